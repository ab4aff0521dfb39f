/// Forms of ordinary parts in unusual number, order or combination.
package struct ShapeTable: Sendable {
    package static let forms: [TableForm] = [
        TableForm("form: empty", [], body: Array("--golden--\r\n".utf8)),
        equalNames, lineBreaks, everySource, types, emptyFileName, charsetField, thousandParts,
    ]

    /// Repeated names with fields and files mixed: nothing is merged or reordered.
    private static let equalNames = TableForm(
        "form: equal names",
        [
            .text("A", "1"), .file("F", "1.txt", .data([49]), type: "text/plain", content: [49]), .text("A", "2"),
            .text("A", "2"), .file("F", "2.txt", .data([50]), type: "text/plain", content: [50]), .text("a", "3"),
            .text("\u{E9}", "NFC"), .text("e\u{301}", "NFD"),
        ],
        body: Array(
            """
            --golden\r
            Content-Disposition: form-data; name="A"\r
            \r
            1\r
            --golden\r
            Content-Disposition: form-data; name="F"; filename="1.txt"\r
            Content-Type: text/plain\r
            \r
            1\r
            --golden\r
            Content-Disposition: form-data; name="A"\r
            \r
            2\r
            --golden\r
            Content-Disposition: form-data; name="A"\r
            \r
            2\r
            --golden\r
            Content-Disposition: form-data; name="F"; filename="2.txt"\r
            Content-Type: text/plain\r
            \r
            2\r
            --golden\r
            Content-Disposition: form-data; name="a"\r
            \r
            3\r
            --golden\r
            Content-Disposition: form-data; name="\u{E9}"\r
            \r
            NFC\r
            --golden\r
            Content-Disposition: form-data; name="e\u{301}"\r
            \r
            NFD\r
            --golden--\r\n
            """.utf8))

    /// Each line break in a text becomes one CRLF; those in data are kept.
    private static let lineBreaks = TableForm(
        "form: line breaks",
        [
            .text("T", "1\n2\r3\r\n4\n\r5\n\n", content: Array("1\r\n2\r\n3\r\n4\r\n\r\n5\r\n\r\n".utf8)),
            .file(
                "D", "d.txt", .data(Array("1\n2\r3\r\n".utf8)), type: "text/plain", content: Array("1\n2\r3\r\n".utf8)),
        ],
        body: Array(
            ("--golden\r\nContent-Disposition: form-data; name=\"T\"\r\n\r\n1\r\n2\r\n3\r\n4\r\n\r\n5\r\n\r\n\r\n"
                + "--golden\r\nContent-Disposition: form-data; name=\"D\"; filename=\"d.txt\"\r\n"
                + "Content-Type: text/plain\r\n\r\n1\n2\r3\r\n\r\n--golden--\r\n").utf8))

    private static let everySource = TableForm(
        "form: every source",
        [
            .text("TOKEN", "text"),
            TablePart(
                name: "SECRET", source: .secret("hidden"),
                read: .init(name: Array("SECRET".utf8), content: Array("hidden".utf8))),
            .file("FILE", "front.png", .file([0x89, 0x50]), type: "image/png", content: [0x89, 0x50]),
            .file("DATA", "front.jpg", .data([0xFF, 0xD8]), type: "image/jpeg", content: [0xFF, 0xD8]),
            TablePart(
                name: "META", source: .json(["side": "front", "a/b": "\"1\""]),
                read: .init(
                    name: Array("META".utf8), contentType: "application/json",
                    content: Array(#"{"a/b":"\"1\"","side":"front"}"#.utf8))),
        ],
        body: Array(
            """
            --golden\r
            Content-Disposition: form-data; name="TOKEN"\r
            \r
            text\r
            --golden\r
            Content-Disposition: form-data; name="SECRET"\r
            \r
            hidden\r
            --golden\r
            Content-Disposition: form-data; name="FILE"; filename="front.png"\r
            Content-Type: image/png\r
            \r\n
            """.utf8) + [0x89, 0x50]
            + Array(
                """
                \r
                --golden\r
                Content-Disposition: form-data; name="DATA"; filename="front.jpg"\r
                Content-Type: image/jpeg\r
                \r\n
                """.utf8) + [0xFF, 0xD8]
            + Array(
                #"""
                \#r
                --golden\#r
                Content-Disposition: form-data; name="META"\#r
                Content-Type: application/json\#r
                \#r
                {"a/b":"\"1\"","side":"front"}\#r
                --golden--\#r\#n
                """#.utf8))

    private static let types = TableForm(
        "form: types",
        [
            .file("A", "a.jpg", .data([65]), declaredType: "image/x-card", type: "image/x-card", content: [65]),
            .file("B", "b", .data([66]), type: "application/octet-stream", content: [66]),
            .file(
                "C", "c.bin", .data([67]), declaredType: "application/vnd.api+json", type: "application/vnd.api+json",
                content: [67]),
            .file(
                "D", "d.txt", .data([68]), declaredType: "text/plain; charset=utf-8", type: "text/plain; charset=utf-8",
                content: [68]),
        ],
        body: Array(
            ("--golden\r\nContent-Disposition: form-data; name=\"A\"; filename=\"a.jpg\"\r\n"
                + "Content-Type: image/x-card\r\n\r\nA\r\n"
                + "--golden\r\nContent-Disposition: form-data; name=\"B\"; filename=\"b\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\nB\r\n"
                + "--golden\r\nContent-Disposition: form-data; name=\"C\"; filename=\"c.bin\"\r\n"
                + "Content-Type: application/vnd.api+json\r\n\r\nC\r\n"
                + "--golden\r\nContent-Disposition: form-data; name=\"D\"; filename=\"d.txt\"\r\n"
                + "Content-Type: text/plain; charset=utf-8\r\n\r\nD\r\n--golden--\r\n").utf8))

    /// What a browser sends for an empty file field.
    private static let emptyFileName = TableForm(
        "form: empty file name",
        [.file("FILE", "", .data([]), type: "application/octet-stream", content: [])],
        body: Array(
            ("--golden\r\nContent-Disposition: form-data; name=\"FILE\"; filename=\"\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n\r\n--golden--\r\n").utf8))

    /// A field that names the charset of the others, according to RFC 7578, section 4.6.
    private static let charsetField = TableForm(
        "form: charset field", [.text("_charset_", "utf-8"), .text("T", "身")],
        body: Array(
            ("--golden\r\nContent-Disposition: form-data; name=\"_charset_\"\r\n\r\nutf-8\r\n"
                + "--golden\r\nContent-Disposition: form-data; name=\"T\"\r\n\r\n").utf8) + hex("E8 BA AB")
            + Array("\r\n--golden--\r\n".utf8))

    /// The maximum number of parts that servers commonly permit.
    private static let thousandParts = TableForm(
        "form: 1,000 parts", (0..<1_000).map { .text("field\($0)", "value \($0)") },
        body: Array(
            ((0..<1_000).map { index in
                "--golden\r\nContent-Disposition: form-data; name=\"field\(index)\"\r\n\r\nvalue \(index)\r\n"
            }.joined() + "--golden--\r\n").utf8))
}
