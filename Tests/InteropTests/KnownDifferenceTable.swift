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
            Row("file name: CR", .fileName, says: "a%0Db.jpg", mostAndPHP),
            Row("file name: CRLF", .fileName, says: "a%0D%0Ab.jpg", mostAndPHP),
            Row("file name: LF", .fileName, says: "a%0Ab.jpg", mostAndPHP),
            Row("file name: LF and CR", .fileName, says: "a%0A%0Db.jpg", mostAndPHP),
            Row("file name: a header put in", .fileName, says: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil", mostAndPHP),
            Row("file name: a parameter put in", .fileName, says: "a%22; filename=%22evil.exe", manyAndPHP),
            Row("file name: a part put in", .fileName, says: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", manyAndPHP),
            Row("file name: a part put in", .fileName, says: "a\"%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", ["werkzeug"]),
            Row("file name: backslash and quote", .fileName, says: "a\\%22b.jpg", ["python-multipart", "Go"]),
            Row("file name: only quotes", .fileName, says: "%22%22", manyAndPHP),
            Row("file name: quote", .fileName, says: "a%22b.jpg", manyAndPHP),
            Row("name: CR", .name, says: "a%0D%0Ab.jpg", most),
            Row("name: CRLF", .name, says: "a%0D%0Ab.jpg", most),
            Row("name: LF", .name, says: "a%0D%0Ab.jpg", most),
            Row("name: LF and CR", .name, says: "a%0D%0A%0D%0Ab.jpg", most),
            Row("name: a header put in", .name, says: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil", most),
            Row("name: a parameter put in", .name, says: "a%22; filename=%22evil.exe", many),
            Row("name: a part put in", .name, says: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", manyAndPHP),
            Row("name: a part put in", .name, says: "a\"%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", ["werkzeug"]),
            Row("name: backslash and quote", .name, says: "a\\%22b.jpg", ["python-multipart", "Node 18", "Go"]),
            Row("name: only quotes", .name, says: "%22%22", manyAndPHP),
            Row("name: quote", .name, says: "a%22b.jpg", many),
        ])

    private static let escapesUndone = Group(
        why: "The algorithm leaves `%` alone, so a name that looks escaped can't be told from one that was: "
            + "whoever undoes escapes undoes these.",
        rows: [
            Row("file name: looks escaped", .fileName, says: "a\"b%0D%0A.jpg", ["werkzeug"]),
            Row("file name: looks escaped", .fileName, says: "a\"b\r\n.jpg", ["multipart", "Node"]),
            Row("name: looks escaped", .name, says: "a\"b%0D%0A.jpg", ["werkzeug"]),
            Row("name: looks escaped", .name, says: "a\"b\r\n.jpg", ["multipart", "Node"]),
        ])

    private static let backslashes = Group(
        why: "A backslash escapes what follows it, as in mail (RFC 822); one at the end takes the closing "
            + "quote along. Browsers and curl mean the backslash itself.",
        rows: [
            Row("file name: a Windows path", .fileName, says: "C:cardscard.jpg", unescaping),
            Row("file name: backslash", .fileName, says: "ab.jpg", unescaping),
            Row("file name: backslash and quote", .fileName, says: "a%22b.jpg", ["email", "aiohttp"]),
            Row("file name: backslash and quote", .fileName, says: "a\"b.jpg", ["werkzeug"]),
            Row("file name: backslash at the end", .fileName, says: "card\"", ["email", "PHP"]),
            Row("file name: backslash at the end", .fileName, ["werkzeug", "Go"]),
            Row("file name: backslash at the end", .name, says: "", ["Go"]),
            Row("file name: backslash at the end", .part, ["Node 18"]),
            Row(
                "file name: two backslashes", .fileName, says: "a\\b.jpg",
                ["email", "werkzeug", "python-multipart", "aiohttp", "Go"]),
            Row("name: a Windows path", .name, says: "C:cardscard.jpg", unescaping),
            Row("name: backslash", .name, says: "ab.jpg", unescaping),
            Row("name: backslash and quote", .name, says: "a%22b.jpg", ["email", "aiohttp"]),
            Row("name: backslash and quote", .name, says: "a\"b.jpg", ["werkzeug"]),
            Row("name: backslash at the end", .name, says: "", ["Go"]),
            Row("name: backslash at the end", .name, says: "card\"", ["email", "PHP"]),
            Row("name: backslash at the end", .name, ["werkzeug"]),
            Row("name: backslash at the end", .part, ["Node 18"]),
            Row("name: two backslashes", .name, says: "a\\b.jpg", most),
        ])

    private static let folders = Group(
        why: "A file name is cut after its last slash or backslash, as RFC 7578 section 4.2 asks of "
            + "receivers.",
        rows: [
            Row(
                "file name: a Windows path", .fileName, says: "card.jpg",
                ["python-multipart", "multipart", "Node 18", "PHP"]),
            Row("file name: backslash", .fileName, says: "b.jpg", ["Node 18", "PHP"]),
            Row("file name: backslash and quote", .fileName, says: "%22b.jpg", ["Node 18", "PHP"]),
            Row("file name: dots", .fileName, says: "", ["Node 18"]),
            Row("file name: dots", .fileName, says: "..", ["Go", "PHP"]),
            Row("file name: slashes", .fileName, says: "card.jpg", ["Node 18", "Go", "PHP"]),
            Row("file name: two backslashes", .fileName, says: "b.jpg", ["Node 18", "PHP"]),
        ])

    private static let variables = Group(
        why: "PHP makes variables of fields: a dot or a space becomes `_`, what follows a bracket is dropped, "
            + "spaces in front are dropped, and a name without anything left is no field.",
        rows: [
            Row("name: CR", .name, says: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: CRLF", .name, says: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: Chinese", .name, says: "身份证正面_jpg", ["PHP"]),
            Row("name: LF", .name, says: "a%0D%0Ab_jpg", ["PHP"]),
            Row("name: LF and CR", .name, says: "a%0D%0A%0D%0Ab_jpg", ["PHP"]),
            Row("name: NFC", .name, says: "\u{E9}_jpg", ["PHP"]),
            Row("name: NFD", .name, says: "e\u{301}_jpg", ["PHP"]),
            Row("name: a Windows path", .name, says: "C:\\cards\\card_jpg", ["PHP"]),
            Row("name: a header put in", .name, says: "a%0D%0AX-Evil:_1%0D%0A%0D%0Aevil", ["PHP"]),
            Row("name: a parameter put in", .name, says: "a%22;_filename=%22evil_exe", ["PHP"]),
            Row("name: apostrophe", .name, says: "it's_jpg", ["PHP"]),
            Row("name: backslash", .name, says: "a\\b_jpg", ["PHP"]),
            Row("name: backslash and quote", .name, says: "a\\%22b_jpg", ["PHP"]),
            Row("name: brackets", .name, says: "a[b][c]", ["PHP"]),
            Row("name: comma, colon, equals", .name, says: "a,b:_c=d_jpg", ["PHP"]),
            Row("name: dots", .name, says: "__/__", ["PHP"]),
            Row("name: emoji", .name, says: "\u{1F469}\u{200D}\u{1F4BB}\u{1F642}_jpg", ["PHP"]),
            Row("name: looks escaped", .name, says: "a%22b%0D%0A_jpg", ["PHP"]),
            Row("name: looks like RFC 5987", .name, says: "UTF-8''%41_jpg", ["PHP"]),
            Row("name: looks percent-encoded", .name, says: "%41%E8%BA%AB_jpg", ["PHP"]),
            Row("name: one space", .part, ["PHP"]),
            Row("name: percent", .name, says: "100%_jpg", ["PHP"]),
            Row("name: plain", .name, says: "front_jpg", ["PHP"]),
            Row("name: quote", .name, says: "a%22b_jpg", ["PHP"]),
            Row("name: right to left", .name, says: "\u{5EA}\u{202E}gpj_exe", ["PHP"]),
            Row("name: semicolon", .name, says: "a;b=c;_d_jpg", ["PHP"]),
            Row("name: slashes", .name, says: "dir/sub/card_jpg", ["PHP"]),
            Row("name: spaces around", .name, says: "card_jpg__", ["PHP"]),
            Row("name: two backslashes", .name, says: "a\\b_jpg", ["PHP"]),
            Row("name: two spaces inside", .name, says: "two__words_jpg", ["PHP"]),
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
            Row("file name: looks like RFC 2047", .fileName, says: "a", ["email"]),
            Row("name: looks like RFC 2047", .name, says: "a", ["email"]),
        ])

    private static let noName = Group(
        why: "A file name that is empty counts as none.",
        rows: [
            Row("form: empty file name", .fileName, says: "undefined", ["Node 18"]),
            Row("form: empty file name", .fileName, ["Go"]),
            Row("form: empty file name, own boundary", .fileName, says: "undefined", ["Node 18"]),
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
