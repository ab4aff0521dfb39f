import Testing
import WaybillMultipart

@Suite struct ParserGrammarTests {
    /// Returns a body of one part with these header lines and content, with the boundary `B`.
    static func body(_ headers: String, _ content: String = "x") -> String {
        "--B\r\n\(headers)\r\n\r\n\(content)\r\n--B--\r\n"
    }

    static func part(_ content: String, name: String = "a") -> String {
        body("Content-Disposition: form-data; name=\"\(name)\"", content)
    }

    /// Parses the text whole, byte by byte and split at every position. All results must agree.
    func parse(_ text: String, boundary: String = "B", limits: MultipartLimits = .init()) -> ParserRecord {
        let bytes = Array(text.utf8)
        let whole = ParserRecord(bytes, cutAt: [], boundary: boundary, limits: limits)
        #expect(
            ParserRecord(bytes, cutAt: Array(bytes.indices.dropFirst()), boundary: boundary, limits: limits) == whole)
        for cut in bytes.indices {
            let record = ParserRecord(bytes, cutAt: [cut], boundary: boundary, limits: limits)
            #expect(record == whole, "cut at \(cut) of \(quotedText(text))")
        }
        return whole
    }

    func contents(_ text: String) -> [String] {
        let record = parse(text)
        #expect(record.errorCode == nil, "\(quotedText(text))")
        return record.parts.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private func quotedText(_ text: String) -> String { String(reflecting: text.prefix(200)) }

    @Test func `parts have name, file name, type, headers and content`() {
        let record = parse(
            "preamble\r\n--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B \t\r\n"
                + "content-disposition:form-data;name=f ; filename=\"x;y.jpg\"\r\nContent-Type:  image/jpeg \r\nX-Y: z\r\n\r\n"
                + "\r\n\r\n--B--\r\nepilogue\r\n--B\r\n")
        #expect(record.errorCode == nil)
        #expect(record.parts.map(\.head.name) == ["a", "f"])
        #expect(record.parts.map(\.head.fileName) == [nil, "x;y.jpg"])
        #expect(record.parts.map(\.head.contentType) == [nil, "image/jpeg"])
        #expect(record.parts[1].head.headers.last == MultipartHeader(name: "X-Y", value: "z"))
        #expect(record.parts.map(\.bytes) == [Array("1".utf8), Array("\r\n".utf8)])
        #expect(record.parts.allSatisfy { $0.hasEnded })
    }

    @Test(arguments: [
        "", "\r", "\n", "\r\n", "\r\n\r\n", "--B", "--B\r\n", "--B--", "-", "--", "\r\n-", "\r\n--", "\r\n--b",
        "\r\n--Bz", "\r\n--B-", "\r\n--B-z", "\r\n--B \tz", "\r\n--B \rz", "\r\n--B\r\r\n", "\r\n--B\n", "\n--B\r\n",
        "\r--B\r\n", "\r\n --B\r\n", "\r\r\n", "\r\n\r\n--", "x--B--", "a\r\n--B\u{0}\r\nb", "--B--\r\n",
    ])
    func `text that is not a delimiter line is content`(content: String) {
        // At the very start of a part a delimiter needs no preceding line break.
        let isCut = ["--B\r\n", "--B--", "--B--\r\n"].contains(content)
        if isCut {
            #expect(contents(Self.part("." + content)) == ["." + content])
        } else if content == "--B" {
            #expect(contents(Self.part("--B.")) == ["--B."])
        } else {
            #expect(contents(Self.part(content)) == [content])
        }
    }

    @Test func `a form without parts and a part without content are valid`() {
        #expect(contents("--B--") == [])
        #expect(contents("--B--\r\n") == [])
        #expect(contents("--B-- \t\r\n") == [])
        #expect(contents("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n--B--") == [""])
        #expect(contents(Self.part("")) == [""])
    }

    @Test(arguments: ["\u{FEFF}", "\n", "junk", "junk\r\n"])
    func `bytes before the first boundary hide no parts`(junk: String) {
        let hidden = "\(junk)--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--B--\r\n"
        let record = parse(hidden)
        // After a line break they are a preamble, and the part is found.
        if junk.hasSuffix("\r\n") {
            #expect(record.errorCode == nil && record.parts.count == 1)
        } else {
            #expect(record.errorCode == "malformedDelimiter" && record.parts.isEmpty)
        }
    }

    @Test(arguments: [
        ("\"a%22b\"", "a\"b"), ("\"a%0D%0Ab\"", "a\r\nb"), ("\"%0d%0a\"", "\r\n"), ("\"a\\\"b\"", "a\"b"),
        ("\"a\\\\b\"", "a\\\\b"), ("\"a\\xb\"", "a\\xb"), ("\"C:\\dir\\\"", "C:\\dir\\"), ("\"a\\\" \t", "a\\"),
        ("\"%2522\"", "%2522"), ("\"%%22\"", "%\""), ("\"100%\"", "100%"), ("\"%2\"", "%2"), ("\"%41\"", "%41"),
        ("\"身份证正面🙂.jpg\"", "身份证正面🙂.jpg"), ("\"a;b=c\"", "a;b=c"), ("token", "token"), ("\"\"", ""),
        ("\"a\\\"; name=\\\"b\"", "a\"; name=\"b"), ("%22", "%22"),
    ])
    func `quotes are removed and the three escapes decoded once`(written: String, name: String) {
        let record = parse(Self.body("Content-Disposition: form-data; name=\(written)"))
        #expect(record.errorCode == nil)
        #expect(record.parts.first?.head.name == name)
    }

    @Test func `the plain file name is used and the starred one ignored`() {
        for headers in [
            "Content-Disposition: form-data; name=\"a\"; filename*=UTF-8''evil; filename=\"good\"",
            "Content-Disposition: form-data; name=\"a\"; name*=UTF-8''evil; filename=good; filename*=UTF-8''evil",
            "Content-Disposition: FORM-DATA; NAME=\"a\"; FileName=\"good\";",
        ] {
            let record = parse(Self.body(headers))
            #expect(record.parts.first?.head.name == "a" && record.parts.first?.head.fileName == "good")
        }
        let starOnly = parse(Self.body("Content-Disposition: form-data; name=\"a\"; filename*=UTF-8''evil"))
        #expect(starOnly.errorCode == nil && starOnly.parts.first?.head.fileName == nil)
    }

    @Test(arguments: [
        ("Content-Disposition: form-data; name=a; name=b", "duplicateHeader"),
        ("Content-Disposition: form-data; name=a; filename=b; FILENAME=c", "duplicateHeader"),
        ("Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a", "duplicateHeader"),
        ("Content-Disposition: form-data; name=a\r\nContent-Type: a/b\r\ncontent-type: c/d", "duplicateHeader"),
        ("Content-Disposition: form-data; filename=a", "missingName"),
        ("Content-Disposition: attachment; name=a", "missingName"), ("Content-Type: a/b", "missingName"),
        ("Content-Disposition: form-data; name=\"a", "malformedHeader"),
        ("Content-Disposition: form-data; name=\"a\\\"; filename=\"b\"c", "malformedHeader"),
        ("Content-Disposition: form-data; name", "malformedHeader"),
        ("Content-Disposition: form-data; name=\"a\" b", "malformedHeader"),
        ("Content-Disposition: form-data; name =\"a\"", "malformedHeader"),
        ("Content-Disposition: form-data; name= \"a\"", "malformedHeader"),
        ("Content-Disposition: form-data; name=a=b", "malformedHeader"),
        ("Content-Disposition: form-data; name=a/b", "malformedHeader"),
        ("Content-Disposition: form-data; name=\u{e9}", "malformedHeader"),
        ("Content-Disposition: form-data; name=a; filename =\"x\"", "malformedHeader"),
        ("Content-Disposition: form-data; name=a\"b\"", "malformedHeader"), ("Content-Disposition:", "malformedHeader"),
        ("Content-Disposition : form-data; name=a", "malformedHeader"), ("no colon", "malformedHeader"),
        (" folded: x", "malformedHeader"), (": x", "malformedHeader"), ("X: a\nY: b", "malformedHeader"),
        ("X: a\rb", "malformedHeader"), ("X: a\0b", "malformedHeader"),
        ("Content-Disposition: form-data; name=a\r\n folded", "malformedHeader"), ("--B--", "malformedHeader"),
    ])
    func `headers that servers would read differently are refused`(headers: String, code: String) {
        let record = parse(Self.body(headers))
        #expect(record.errorCode == code)
        #expect(record.parts.isEmpty)
    }

    @Test func `a name that is not UTF-8 is refused, a file name is repaired`() {
        func body(_ parameters: [UInt8]) -> [UInt8] {
            Array("--B\r\nContent-Disposition: form-data; ".utf8) + parameters + Array("\r\n\r\n\r\n--B--".utf8)
        }
        let limits = MultipartLimits()
        let name = body(Array("name=\"".utf8) + [0xC9, 0xED] + Array("\"".utf8))
        #expect(ParserRecord(name, cutAt: [], boundary: "B", limits: limits).errorCode == "malformedHeader")
        let fileName = body(Array("name=\"a\"; filename=\"".utf8) + [0xC9] + Array(".jpg\"".utf8))
        let record = ParserRecord(fileName, cutAt: [], boundary: "B", limits: limits)
        #expect(record.parts.first?.head.fileName == "\u{FFFD}.jpg")
    }

    @Test func `a body is truncated unless it contains its closing boundary`() {
        let body = "preamble\r\n" + Self.part("content")
        let complete = body.utf8.count - "\r\n".utf8.count
        for end in 0..<body.utf8.count {
            let record = ParserRecord(
                Array(body.utf8.prefix(end)), cutAt: [], boundary: "B", limits: .init())
            #expect(record.errorCode == (end < complete ? "truncatedBody" : nil), "ends after \(end) bytes")
        }
    }

    @Test(arguments: ["x", "\n", "\rx", " x", "--", "\r\r\n"])
    func `junk on the closing line is refused`(junk: String) {
        #expect(parse("--B--\(junk)\r\n").errorCode == "malformedDelimiter")
    }

    @Test func `lines that end in LF only are not recognized`() {
        #expect(parse("--B\nContent-Disposition: form-data; name=a\n\nx\n--B--\n").errorCode == "truncatedBody")
    }

    @Test func `a parser stays failed, and refuses bytes after its end`() throws {
        var record = ParserRecord([], cutAt: [], boundary: "B", limits: .init())
        var parser = try MultipartParser(boundary: "B")
        #expect(throws: BodyError.self) { try parser.feed(Array("--B--x".utf8).span, to: &record) }
        #expect(throws: BodyError.self) { try parser.feed(Array("\r\n".utf8).span, to: &record) }
        #expect(throws: BodyError.self) { try parser.finish() }
        parser = try MultipartParser(boundary: "B")
        try parser.feed(Array("--B--".utf8).span, to: &record)
        try parser.finish()
        #expect(throws: BodyError.self) { try parser.feed(Array("x".utf8).span, to: &record) }
    }

    @Test func `an error thrown by the handler is propagated`() throws {
        struct Picky: MultipartHandler {
            struct Refused: Error {}
            // Not empty: the thread sanitizer dereferences an invalid address for an empty value passed inout.
            var calls = 0
            mutating func partBegan(_ head: MultipartPartHead) throws {
                calls += 1
                throw Refused()
            }
            mutating func partData(_ bytes: Span<UInt8>) {}
            mutating func partEnded() {}
        }
        var picky = Picky()
        var parser = try MultipartParser(boundary: "B")
        #expect(throws: Picky.Refused.self) { try parser.feed(Array(Self.part("x").utf8).span, to: &picky) }
        #expect(picky.calls == 1)
    }

    @Test(
        arguments: [
            ("multipart/form-data; boundary=B", nil), ("Multipart/Form-Data;boundary=\"B\"", nil),
            ("multipart/form-data; charset=utf-8; Boundary=B ;", nil), ("multipart/form-data", "notMultipart"),
            ("multipart/form-data; boundary=B; boundary=C", "notMultipart"),
            ("multipart/mixed; boundary=B", "notMultipart"),
            ("text/plain", "notMultipart"), ("", "notMultipart"), ("multipart/form-data; boundary=\"B", "notMultipart"),
            ("multipart/form-data; boundary=\"\"", "invalidBoundary"),
            ("multipart/form-data; boundary=\"B \"", "invalidBoundary"),
            ("multipart/form-data; boundary=B\u{e9}", "notMultipart"),
            ("multipart/form-data; boundary=\"B\u{e9}\"", "invalidBoundary"),
            ("multipart/form-data; boundary = B", "notMultipart"),
            ("multipart/form-data; boundary=a:b", "notMultipart"),
            ("multipart/form-data; boundary=\(String(repeating: "B", count: 71))", "invalidBoundary"),
        ] as [(String, String?)])
    func `the boundary is found in the content type`(contentType: String, code: String?) throws {
        var record = ParserRecord([], cutAt: [], boundary: "B", limits: .init())
        record.errorCode = nil
        do {
            var parser = try MultipartParser(contentType: contentType)
            try parser.feed(Array(Self.part("x").utf8).span, to: &record)
            try parser.finish()
            #expect(code == nil && record.parts.count == 1)
        } catch {
            #expect((error as? BodyError)?.code.description == code)
        }
    }

    @Test func `boundaries of RFC 2046 work, also with a space and with 70 characters`() {
        for boundary in ["a b", "'()+_,-./:=?", String(repeating: "-", count: 70), "--", "-"] {
            let content = "x\r\n--\(boundary.dropLast())"
            let body = "--\(boundary)\r\nContent-Disposition: form-data; name=a\r\n\r\n\(content)\r\n--\(boundary)--"
            let record = parse(body, boundary: boundary)
            #expect(record.errorCode == nil && record.parts.first?.bytes == Array(content.utf8), "\(boundary)")
        }
    }
}
