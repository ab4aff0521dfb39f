import Testing
import WaybillMultipart

/// Inputs that other parsers interpret differently, and the results of `MultipartParser`; the examples of the RFCs.
@Suite struct DifferenceTests {
    private func record(_ body: String, boundary: String = "B") -> ParserRecord {
        let bytes = Array(body.utf8)
        let whole = ParserRecord(bytes, cutAt: [], boundary: boundary, limits: .init())
        #expect(
            ParserRecord(bytes, cutAt: Array(bytes.indices.dropFirst()), boundary: boundary, limits: .init()) == whole)
        return whole
    }

    private func part(_ parameters: String, _ content: String = "x") -> String {
        "--B\r\nContent-Disposition: form-data; \(parameters)\r\n\r\n\(content)\r\n--B--\r\n"
    }

    @Test(
        arguments: [
            ("a%22b", "a\"b"), ("a\\\"b", "a\"b"), ("a\\\\b", "a\\\\b"), ("a\\xb", "a\\xb"), ("a\\", "a\\"),
            ("d/e", "d/e"), ("身.jpg", "身.jpg"), ("", ""), ("a;b.jpg", "a;b.jpg"), ("a%0D%0Ab", "a\r\nb"),
            ("a%25b", "a%25b"), ("C:\\dir\\f.jpg", "C:\\dir\\f.jpg"), ("..", ".."), ("a\tb", "a\tb"),
            ("=?x?=", "=?x?="),
        ])
    func `a file name that fourteen parsers read differently has one meaning`(written: String, meant: String) {
        let read = record(part("name=\"n\"; filename=\"\(written)\""))
        #expect(read.errorCode == nil && read.parts.first?.head.name == "n")
        #expect(read.parts.first?.head.fileName.map { Array($0.utf8) } == Array(meant.utf8))
    }

    @Test(
        arguments: [
            ("filename*=UTF-8''a.jpg; name=n", nil, nil),
            ("name=n; filename=plain; filename*=UTF-8''star", "plain", nil),
            ("name=n; filename*=UTF-8''star; filename=plain", "plain", nil), ("name=a; name=n", nil, "duplicateHeader"),
            ("name=n; filename=a; filename=b", nil, "duplicateHeader"),
            ("name=n; filename*=%%%; filename=a", "a", nil), ("name=n; filename*0=a; filename*1=b", nil, nil),
        ] as [(String, String?, String?)])
    func `duplicate parameters are refused or ignored`(parameters: String, fileName: String?, code: String?) {
        let read = record(part(parameters))
        #expect(read.errorCode == code)
        if code == nil { #expect(read.parts.first?.head.fileName == fileName && read.parts.first?.head.name == "n") }
    }

    @Test func `bodies that servers disagree about are parsed or refused as specified`() {
        let one = part("name=n")
        #expect(record("preamble\r\n" + one).parts.count == 1)
        #expect(record(one.replacing("--B\r\n", with: "--B \t\r\n")).parts.count == 1)
        #expect(record(one.replacing("\r\n", with: "\n")).errorCode == "truncatedBody")
        #expect(record(one.replacing("--B--\r\n", with: "")).errorCode == "truncatedBody")
        #expect(record(part("name=n", "a\r\n--Bzz\r\nb")).parts.first?.bytes == Array("a\r\n--Bzz\r\nb".utf8))
        #expect(record("--B--").errorCode == nil)
        #expect(record(one + "epilogue\r\n" + one).parts.count == 1)
        #expect(record("\r\n" + one).parts.count == 1)
        #expect(record("").errorCode == "truncatedBody")
    }

    /// RFC 2046, section 5.1.1: the delimiter line and the text around it.
    @Test func `the example of RFC 2046 is parsed as described`() {
        let body =
            "This is the preamble.  It is to be ignored, though it\r\nis a handy place for composition agents to include an\r\n"
            + "explanatory note to non-MIME conformant readers.\r\n\r\n--simple boundary\r\n"
            + "Content-Disposition: form-data; name=1\r\n\r\nThis is implicitly typed plain US-ASCII text.\r\n"
            + "It does NOT end with a linebreak.\r\n--simple boundary\r\nContent-type: text/plain; charset=us-ascii\r\n"
            + "Content-Disposition: form-data; name=2\r\n\r\nThis is explicitly typed plain US-ASCII text.\r\n"
            + "It DOES end with a linebreak.\r\n\r\n--simple boundary--\r\n\r\nThis is the epilogue.  It is also to be ignored.\r\n"
        let read = record(body, boundary: "simple boundary")
        #expect(read.errorCode == nil && read.parts.map(\.head.name) == ["1", "2"])
        #expect(String(decoding: read.parts[0].bytes, as: UTF8.self).hasSuffix("NOT end with a linebreak."))
        #expect(String(decoding: read.parts[1].bytes, as: UTF8.self).hasSuffix("DOES end with a linebreak.\r\n"))
        #expect(read.parts[1].head.contentType == "text/plain; charset=us-ascii")
    }

    /// RFC 7578, sections 4.2, 4.3, 4.6 and 5.2.
    @Test func `equal names remain separate and in order, and _charset_ is an ordinary field`() {
        let body =
            "--B\r\nContent-Disposition: form-data; name=\"_charset_\"\r\n\r\niso-8859-1\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"1.txt\"\r\n\r\n1\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"2.txt\"\r\n\r\n2\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"\u{E9}\"\r\n\r\n3\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"e\u{301}\"\r\n\r\n4\r\n--B--"
        let read = record(body)
        #expect(read.errorCode == nil && read.parts.map(\.head.fileName) == [nil, "1.txt", "2.txt", nil, nil])
        #expect(read.parts.map { String(decoding: $0.bytes, as: UTF8.self) } == ["iso-8859-1", "1", "2", "3", "4"])
        // Equal in Swift, but different names on the wire.
        #expect(Array(read.parts[3].head.name.utf8) != Array(read.parts[4].head.name.utf8))
    }

    @Test(
        arguments: [
            ("a\\", "b"), ("a\\", "b\\"), ("\\", ""), ("C:\\dir\\", "C:\\x\\"), ("a\\", "; x=1"), ("a;b\\", ";"),
            ("a\\", "; filename=evil"), ("a\\", "\u{8EAB}.jpg"),
        ])
    func `a name that ends in a backslash is read as browsers write it`(name: String, fileName: String) {
        let read = record(part("name=\"\(name)\"; filename=\"\(fileName)\""))
        #expect(read.errorCode == nil, "\(name) \(fileName)")
        #expect(read.parts.first?.head.name == name && read.parts.first?.head.fileName == fileName)
    }

    /// Senders that escape quotes and backslashes with a backslash. Whatever names they are given, no parameter
    /// appears that they did not write.
    @Test func `no name adds a parameter, with escaped quotes or doubled backslashes`() {
        let pieces = ["\"", "\\", ";", "filename=evil", "name=evil", "=", " ", "x", "\\\"", "y=\""]
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        func text() -> String {
            (0..<Int.random(in: 0..<7, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }
                .joined()
        }
        var understood = 0
        for _ in 0..<2_000 {
            let (name, fileName) = ("n" + text(), text())
            for style in 0..<3 {
                func escaped(_ text: String) -> String {
                    switch style {
                    case 0: text.replacing("\"", with: "%22")
                    case 1: text.replacing("\"", with: "\\\"")
                    default: text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                    }
                }
                let hasFile = Bool.random(using: &generator)
                let header =
                    "form-data; name=\"\(escaped(name))\"" + (hasFile ? "; filename=\"\(escaped(fileName))\"" : "")
                let body = "--B\r\nContent-Disposition: \(header)\r\n\r\n\r\n--B--"
                let read = ParserRecord(Array(body.utf8), cutAt: [], boundary: "B", limits: .init())
                guard let head = read.parts.first?.head else { continue }
                understood += 1
                #expect(
                    head.fileName?.hasPrefix("evil") != true || fileName.hasPrefix("evil"), "seed \(seed) \(header)")
                #expect(head.name.hasPrefix("n"), "seed \(seed) \(header)")
                // Names written by browsers are read literally.
                if style == 0 { #expect(head.name == name && head.fileName == (hasFile ? fileName : nil), "\(header)") }
                if hasFile == false { #expect(head.fileName == nil, "seed \(seed) \(header)") }
            }
        }
        #expect(understood > 3_000)
    }
}
