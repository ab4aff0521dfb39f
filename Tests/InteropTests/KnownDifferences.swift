/// The known differences of readers and their reasons. A difference that is not listed fails the tests, as does a row
/// that no longer differs.
///
/// Only names may differ, and whether a form is read at all if it is empty or contains a name with a special meaning
/// for the reader. Contents, their order and their types may not differ.
enum KnownDifferences {
    /// The rows with the same reason.
    struct Group: Sendable {
        let why: String
        let rows: [Row]
    }

    /// The name that some readers report for one form.
    struct Row: Sendable {
        let form: String
        let kind: Difference.Kind
        let reported: String?
        let readers: [String]

        init(_ form: String, _ kind: Difference.Kind, reported: String? = nil, _ readers: [String]) {
            self.form = form
            self.kind = kind
            self.reported = reported
            self.readers = readers
        }
    }

    static var rows: [Row] { groups.flatMap(\.rows) }

    /// Returns the known differences of a reader.
    static func of(_ reader: String) -> Set<Difference> {
        Set(
            rows.filter { $0.readers.contains(reader) }.map {
                Difference(form: $0.form, kind: $0.kind, reported: $0.reported)
            })
    }
}

// The known differences, grouped by reason.

private let many = ["email", "python-multipart", "aiohttp", "Node 18", "Go"]
private let manyAndPHP = many + ["PHP"]
private let most = many + ["werkzeug"]
private let mostAndPHP = most + ["PHP"]
private let unescaping = ["email", "werkzeug", "aiohttp"]

extension KnownDifferences {
    static let groups: [Group] = [
        escapesKept, escapesUndone, backslashes, folders, variables, semicolons, encodedWords, noName, noParts,
        charsetField,
    ]

    private static let escapesKept = Group(
        why: "The escapes of the WHATWG algorithm are not undone, or only those of quotes.",
        rows: [
            Row("file name: CR", .fileName, reported: "a%0Db.jpg", mostAndPHP),
            Row("file name: CRLF", .fileName, reported: "a%0D%0Ab.jpg", mostAndPHP),
            Row("file name: LF", .fileName, reported: "a%0Ab.jpg", mostAndPHP),
            Row("file name: LF and CR", .fileName, reported: "a%0A%0Db.jpg", mostAndPHP),
            Row("file name: a header put in", .fileName, reported: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil", mostAndPHP),
            Row("file name: a parameter put in", .fileName, reported: "a%22; filename=%22evil.exe", manyAndPHP),
            Row("file name: a part put in", .fileName, reported: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", manyAndPHP),
            Row("file name: a part put in", .fileName, reported: "a\"%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", ["werkzeug"]),
            Row("file name: backslash and quote", .fileName, reported: "a\\%22b.jpg", ["python-multipart", "Go"]),
            Row("file name: only quotes", .fileName, reported: "%22%22", manyAndPHP),
            Row("file name: quote", .fileName, reported: "a%22b.jpg", manyAndPHP),
            Row("name: CR", .name, reported: "a%0D%0Ab.jpg", most),
            Row("name: CRLF", .name, reported: "a%0D%0Ab.jpg", most),
            Row("name: LF", .name, reported: "a%0D%0Ab.jpg", most),
            Row("name: LF and CR", .name, reported: "a%0D%0A%0D%0Ab.jpg", most),
            Row("name: a header put in", .name, reported: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil", most),
            Row("name: a parameter put in", .name, reported: "a%22; filename=%22evil.exe", many),
            Row("name: a part put in", .name, reported: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", manyAndPHP),
            Row("name: a part put in", .name, reported: "a\"%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", ["werkzeug"]),
            Row("name: backslash and quote", .name, reported: "a\\%22b.jpg", ["python-multipart", "Node 18", "Go"]),
            Row("name: only quotes", .name, reported: "%22%22", manyAndPHP),
            Row("name: quote", .name, reported: "a%22b.jpg", many),
        ])

    private static let escapesUndone = Group(
        why: "The algorithm leaves `%` alone, so a name that looks escaped equals one that was: "
            + "a reader that decodes escapes decodes both.",
        rows: [
            Row("file name: looks escaped", .fileName, reported: "a\"b%0D%0A.jpg", ["werkzeug"]),
            Row("file name: looks escaped", .fileName, reported: "a\"b\r\n.jpg", ["multipart", "Node"]),
            Row("name: looks escaped", .name, reported: "a\"b%0D%0A.jpg", ["werkzeug"]),
            Row("name: looks escaped", .name, reported: "a\"b\r\n.jpg", ["multipart", "Node"]),
        ])

    private static let backslashes = Group(
        why: "A backslash escapes what follows it, as in mail (RFC 822); one at the end takes the closing "
            + "quote along. Browsers and curl mean the backslash itself.",
        rows: [
            Row("file name: a Windows path", .fileName, reported: "C:cardscard.jpg", unescaping),
            Row("file name: backslash", .fileName, reported: "ab.jpg", unescaping),
            Row("file name: backslash and quote", .fileName, reported: "a%22b.jpg", ["email", "aiohttp"]),
            Row("file name: backslash and quote", .fileName, reported: "a\"b.jpg", ["werkzeug"]),
            Row("file name: backslash at the end", .fileName, reported: "card\"", ["email", "PHP"]),
            Row("file name: backslash at the end", .fileName, ["werkzeug", "Go"]),
            Row("file name: backslash at the end", .name, reported: "", ["Go"]),
            Row("file name: backslash at the end", .part, ["Node 18"]),
            Row(
                "file name: two backslashes", .fileName, reported: "a\\b.jpg",
                ["email", "werkzeug", "python-multipart", "aiohttp", "Go"]),
            Row("name: a Windows path", .name, reported: "C:cardscard.jpg", unescaping),
            Row("name: backslash", .name, reported: "ab.jpg", unescaping),
            Row("name: backslash and quote", .name, reported: "a%22b.jpg", ["email", "aiohttp"]),
            Row("name: backslash and quote", .name, reported: "a\"b.jpg", ["werkzeug"]),
            Row("name: backslash at the end", .name, reported: "", ["Go"]),
            Row("name: backslash at the end", .name, reported: "card\"", ["email", "PHP"]),
            Row("name: backslash at the end", .name, ["werkzeug"]),
            Row("name: backslash at the end", .part, ["Node 18"]),
            Row("name: two backslashes", .name, reported: "a\\b.jpg", most),
        ])

    private static let folders = Group(
        why: "A file name is cut after its last slash or backslash, as RFC 7578 section 4.2 asks of "
            + "receivers.",
        rows: [
            Row(
                "file name: a Windows path", .fileName, reported: "card.jpg",
                ["python-multipart", "multipart", "Node 18", "PHP"]),
            Row("file name: backslash", .fileName, reported: "b.jpg", ["Node 18", "PHP"]),
            Row("file name: backslash and quote", .fileName, reported: "%22b.jpg", ["Node 18", "PHP"]),
            Row("file name: dots", .fileName, reported: "", ["Node 18"]),
            Row("file name: dots", .fileName, reported: "..", ["Go", "PHP"]),
            Row("file name: slashes", .fileName, reported: "card.jpg", ["Node 18", "Go", "PHP"]),
            Row("file name: two backslashes", .fileName, reported: "b.jpg", ["Node 18", "PHP"]),
        ])

    private static let variables = Group(
        why: "PHP makes variables of fields: a dot or a space becomes `_`, what follows a bracket is dropped, "
            + "spaces in front are dropped, and a name without anything left is no field.",
        rows: [
            Row("name: CR", .name, reported: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: CRLF", .name, reported: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: Chinese", .name, reported: "身份证正面_jpg", ["PHP"]),
            Row("name: LF", .name, reported: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: LF and CR", .name, reported: "a%0D%0A%0D%0Ab_jpg", ["PHP"]),
            Row("name: NFC", .name, reported: "\u{E9}_jpg", ["PHP"]),
            Row("name: NFD", .name, reported: "e\u{301}_jpg", ["PHP"]),
            Row("name: a Windows path", .name, reported: "C:\\cards\\card_jpg", ["PHP"]),
            Row("name: a header put in", .name, reported: "a%0D%0AX-Evil:_1%0D%0A%0D%0Aevil", ["PHP"]),
            Row("name: a parameter put in", .name, reported: "a%22;_filename=%22evil_exe", ["PHP"]),
            Row("name: apostrophe", .name, reported: "it's_jpg", ["PHP"]),
            Row("name: backslash", .name, reported: "a\\b_jpg", ["PHP"]),
            Row("name: backslash and quote", .name, reported: "a\\%22b_jpg", ["PHP"]),
            Row("name: brackets", .name, reported: "a[b][c]", ["PHP"]),
            Row("name: comma, colon, equals", .name, reported: "a,b:_c=d_jpg", ["PHP"]),
            Row("name: dots", .name, reported: "__/__", ["PHP"]),
            Row("name: emoji", .name, reported: "\u{1F469}\u{200D}\u{1F4BB}\u{1F642}_jpg", ["PHP"]),
            Row("name: looks escaped", .name, reported: "a%22b%0D%0A_jpg", ["PHP"]),
            Row("name: looks like RFC 5987", .name, reported: "UTF-8''%41_jpg", ["PHP"]),
            Row("name: looks percent-encoded", .name, reported: "%41%E8%BA%AB_jpg", ["PHP"]),
            Row("name: one space", .part, ["PHP"]),
            Row("name: percent", .name, reported: "100%_jpg", ["PHP"]),
            Row("name: plain", .name, reported: "front_jpg", ["PHP"]),
            Row("name: quote", .name, reported: "a%22b_jpg", ["PHP"]),
            Row("name: right to left", .name, reported: "\u{5EA}\u{202E}gpj_exe", ["PHP"]),
            Row("name: semicolon", .name, reported: "a;b=c;_d_jpg", ["PHP"]),
            Row("name: slashes", .name, reported: "dir/sub/card_jpg", ["PHP"]),
            Row("name: spaces around", .name, reported: "card_jpg__", ["PHP"]),
            Row("name: two backslashes", .name, reported: "a\\b_jpg", ["PHP"]),
            Row("name: two spaces inside", .name, reported: "two__words_jpg", ["PHP"]),
        ])

    private static let semicolons = Group(
        why: "aiohttp cuts the header at every semicolon, and then understands none of it.",
        rows: [
            Row("file name: semicolon", .fileName, ["aiohttp"]),
            Row("file name: semicolon", .name, ["aiohttp"]),
            Row("name: semicolon", .name, ["aiohttp"]),
        ])

    private static let encodedWords = Group(
        why: "A mail parser decodes encoded words (RFC 2047).",
        rows: [
            Row("file name: looks like RFC 2047", .fileName, reported: "a", ["email"]),
            Row("name: looks like RFC 2047", .name, reported: "a", ["email"]),
        ])

    private static let noName = Group(
        why: "A file name that is empty counts as none.",
        rows: [
            Row("form: empty file name", .fileName, reported: "undefined", ["Node 18"]),
            Row("form: empty file name", .fileName, ["Go"]),
            Row("form: empty file name, own boundary", .fileName, reported: "undefined", ["Node 18"]),
            Row("form: empty file name, own boundary", .fileName, ["Go"]),
        ])

    private static let noParts = Group(
        why: "A mail parser knows no multipart without parts.",
        rows: [
            Row("form: empty", .refusal, ["email"]),
            Row("form: empty, own boundary", .refusal, ["email"]),
        ])

    private static let charsetField = Group(
        why: "aiohttp takes a first field of the name `_charset_` for a statement (RFC 7578 section 4.6), and "
            + "fails at reading it.",
        rows: [
            Row("form: charset field", .refusal, ["aiohttp"]),
            Row("form: charset field, own boundary", .refusal, ["aiohttp"]),
        ])
}
