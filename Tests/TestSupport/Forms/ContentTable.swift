/// Contents that are difficult to transmit: unusual first and last bytes, near boundaries, binary data.
package struct ContentTable: Sendable {
    package struct Row: Sendable {
        package let id: String
        package let content: [UInt8]
        /// Whether a field can contain it unchanged: UTF-8 in which all line breaks are CRLF.
        package let isText: Bool
    }

    private static func text(_ id: String, _ content: String) -> Row {
        Row(id: id, content: Array(content.utf8), isText: true)
    }

    private static func data(_ id: String, _ content: [UInt8]) -> Row {
        Row(id: id, content: content, isText: false)
    }

    package static let rows: [Row] = [
        text("empty", ""),
        text("one letter", "x"),
        text("one line break", "\r\n"),
        text("all line breaks", String(repeating: "\r\n", count: 5_000)),
        text("a blank line first", "\r\n\r\nx"),
        text("dashes", "--"),
        text("a line of dashes", "\r\n--\r\n----\r\n"),
        text("ends as a boundary begins", "x\r\n--"),
        text("most of the boundary", "\r\n--golde\r\n--golde--\r\n"),
        text("the boundary in capitals", "\r\n--GOLDEN\r\n--GOLDEN--\r\n"),
        text("the boundary with one dash", "\r\n-gold-en"),
        text("beginnings of the boundary", String(repeating: "\r\n--gold", count: 4_000)),
        text("a header", "Content-Disposition: form-data; name=\"x\"\r\n\r\n"),
        text("Chinese and emoji", "身份证正面 🙂"),
        text("percent escapes", "%22%0D%0A%"),
        data("LF", Array("1\n2\n\n3\n".utf8)),
        data("CR", Array("1\r2\r\r3\r".utf8)),
        data("all CR", [UInt8](repeating: 13, count: 10_000)),
        data("all LF", [UInt8](repeating: 10, count: 10_000)),
        data("a CR at the end", Array("x\r".utf8)),
        data("CR, CRLF and dashes at the end", Array("x\r\r\n--gol\r".utf8)),
        data("NUL", [0]),
        data("every byte", (0...255).map { UInt8($0) }),
        data("no UTF-8", hex("FF FE C3 28 ED A0 80 F5")),
        data("beginning of a JPEG file", hex("FF D8 FF E0 00 10 4A 46 49 46 00")),
        data("70,000 bytes of everything", (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7 &+ $0 / 256) }),
        data("a byte order mark", hex("EF BB BF 78")),
    ]

    package static let forms: [TableForm] = rows.map(file) + rows.filter(\.isText).map(field)

    private static func field(_ row: Row) -> TableForm {
        TableForm(
            "text: \(row.id)", [.text("T", String(decoding: row.content, as: UTF8.self), content: row.content)],
            body: Array("--golden\r\nContent-Disposition: form-data; name=\"T\"\r\n\r\n".utf8) + row.content
                + Array("\r\n--golden--\r\n".utf8))
    }

    private static func file(_ row: Row) -> TableForm {
        let head = "--golden\r\nContent-Disposition: form-data; name=\"F\"; filename=\"f.bin\"\r\n"
        return TableForm(
            "file: \(row.id)",
            [
                .file("F", "f.bin", .file(row.content), type: "application/octet-stream", content: row.content),
                .text("after", "still here"),
            ],
            body: Array("\(head)Content-Type: application/octet-stream\r\n\r\n".utf8) + row.content
                + Array(
                    "\r\n--golden\r\nContent-Disposition: form-data; name=\"after\"\r\n\r\nstill here\r\n--golden--\r\n"
                        .utf8))
    }
}
