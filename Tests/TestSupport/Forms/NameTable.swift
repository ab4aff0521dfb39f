/// Names that are difficult to write or to parse.
///
/// Each is sent as a field name and as a file name, in separate forms. The bytes on the wire are spelled out: a quote
/// is `%22`, CR and LF are `%0D` and `%0A`, everything else is unchanged. In field names, but not in file names, line
/// breaks are first normalized to CRLF.
package struct NameTable: Sendable {
    package struct Row: Sendable {
        package let id: String
        package let text: String
        /// The bytes between the quotes as a field name.
        package let asName: [UInt8]
        /// The bytes between the quotes as a file name.
        package let asFileName: [UInt8]
        /// The expected field name after parsing.
        package let readName: [UInt8]
    }

    /// Creates a name that is written the same in both places.
    private static func row(_ id: String, _ text: String, _ wire: String) -> Row {
        row(id, text, bytes: Array(wire.utf8))
    }

    private static func row(_ id: String, _ text: String, bytes: [UInt8]) -> Row {
        Row(id: id, text: text, asName: bytes, asFileName: bytes, readName: Array(text.utf8))
    }

    /// Creates a name with line breaks.
    private static func row(
        _ id: String, _ text: String, name: String, fileName: String, meant: String
    ) -> Row {
        Row(
            id: id, text: text, asName: Array(name.utf8), asFileName: Array(fileName.utf8),
            readName: Array(meant.utf8))
    }

    package static let rows: [Row] = [
        row("plain", "front.jpg", "front.jpg"),
        row("quote", "a\"b.jpg", "a%22b.jpg"),
        row("only quotes", "\"\"", "%22%22"),
        row("backslash", "a\\b.jpg", "a\\b.jpg"),
        row("two backslashes", "a\\\\b.jpg", "a\\\\b.jpg"),
        row("backslash at the end", "card\\", "card\\"),
        row("backslash and quote", "a\\\"b.jpg", "a\\%22b.jpg"),
        row("CR", "a\rb.jpg", name: "a%0D%0Ab.jpg", fileName: "a%0Db.jpg", meant: "a\r\nb.jpg"),
        row("LF", "a\nb.jpg", name: "a%0D%0Ab.jpg", fileName: "a%0Ab.jpg", meant: "a\r\nb.jpg"),
        row("CRLF", "a\r\nb.jpg", name: "a%0D%0Ab.jpg", fileName: "a%0D%0Ab.jpg", meant: "a\r\nb.jpg"),
        row(
            "LF and CR", "a\n\rb.jpg", name: "a%0D%0A%0D%0Ab.jpg", fileName: "a%0A%0Db.jpg",
            meant: "a\r\n\r\nb.jpg"),
        row(
            "a header put in", "a\r\nX-Evil: 1\r\n\r\nevil", name: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil",
            fileName: "a%0D%0AX-Evil: 1%0D%0A%0D%0Aevil", meant: "a\r\nX-Evil: 1\r\n\r\nevil"),
        row("a parameter put in", "a\"; filename=\"evil.exe", "a%22; filename=%22evil.exe"),
        row(
            "a part put in", "a\"\r\n\r\nx\r\n--golde\r\n", name: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A",
            fileName: "a%22%0D%0A%0D%0Ax%0D%0A--golde%0D%0A", meant: "a\"\r\n\r\nx\r\n--golde\r\n"),
        row("semicolon", "a;b=c; d.jpg", "a;b=c; d.jpg"),
        row("comma, colon, equals", "a,b: c=d.jpg", "a,b: c=d.jpg"),
        row("apostrophe", "it's.jpg", "it's.jpg"),
        row("percent", "100%.jpg", "100%.jpg"),
        row("looks escaped", "a%22b%0D%0A.jpg", "a%22b%0D%0A.jpg"),
        row("looks percent-encoded", "%41%E8%BA%AB.jpg", "%41%E8%BA%AB.jpg"),
        row("looks like RFC 5987", "UTF-8''%41.jpg", "UTF-8''%41.jpg"),
        row("looks like RFC 2047", "=?UTF-8?B?YQ==?=", "=?UTF-8?B?YQ==?="),
        row(
            "Chinese", "身份证正面.jpg",
            bytes: hex("E8 BA AB E4 BB BD E8 AF 81 E6 AD A3 E9 9D A2 2E 6A 70 67")),
        row("NFC", "\u{E9}.jpg", bytes: hex("C3 A9 2E 6A 70 67")),
        row("NFD", "e\u{301}.jpg", bytes: hex("65 CC 81 2E 6A 70 67")),
        row(
            "emoji", "\u{1F469}\u{200D}\u{1F4BB}\u{1F642}.jpg",
            bytes: hex("F0 9F 91 A9 E2 80 8D F0 9F 92 BB F0 9F 99 82 2E 6A 70 67")),
        row("right to left", "\u{5EA}\u{202E}gpj.exe", bytes: hex("D7 AA E2 80 AE 67 70 6A 2E 65 78 65")),
        row("two spaces inside", "two  words.jpg", "two  words.jpg"),
        row("spaces around", "  card.jpg  ", "  card.jpg  "),
        row("one space", " ", " "),
        row("slashes", "dir/sub/card.jpg", "dir/sub/card.jpg"),
        row("a Windows path", "C:\\cards\\card.jpg", "C:\\cards\\card.jpg"),
        row("dots", "../..", "../.."),
        row("brackets", "a[b][c].d", "a[b][c].d"),
        row("10 kB", String(repeating: "0123456789", count: 1_000), String(repeating: "0123456789", count: 1_000)),
        row(
            "10 kB of Chinese", String(repeating: "身", count: 3_333),
            bytes: Array(repeatElement([0xE8, 0xBA, 0xAB], count: 3_333).joined())),
    ]

    /// Names with a NUL, which the encoder refuses in both places.
    package static let refused = ["\0", "a\0b.jpg", "card.jpg\0", "card.php\0.jpg"]

    package static let forms: [TableForm] = rows.flatMap { [field($0), file($0)] }

    private static func field(_ row: Row) -> TableForm {
        TableForm(
            "name: \(row.id)", [.text(row.text, "value", readName: row.readName)],
            body: Array("--golden\r\nContent-Disposition: form-data; name=\"".utf8) + row.asName
                + Array("\"\r\n\r\nvalue\r\n--golden--\r\n".utf8))
    }

    private static func file(_ row: Row) -> TableForm {
        TableForm(
            "file name: \(row.id)",
            [
                .file(
                    "FILE", row.text, .data([0, 1, 2]), declaredType: "image/jpeg", type: "image/jpeg",
                    content: [0, 1, 2])
            ],
            body: Array("--golden\r\nContent-Disposition: form-data; name=\"FILE\"; filename=\"".utf8) + row.asFileName
                + Array("\"\r\nContent-Type: image/jpeg\r\n\r\n\u{0}\u{1}\u{2}\r\n--golden--\r\n".utf8))
    }
}
