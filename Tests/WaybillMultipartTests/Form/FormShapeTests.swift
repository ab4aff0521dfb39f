import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct FormShapeTests {
    func lines(_ form: MultipartForm) -> [String] { form.parts.map(\.description) }

    @Test func `a builder closure supports conditions and loops`() {
        let token: String? = "t"
        let none: MultipartPart? = nil
        let form = MultipartForm {
            MultipartPart.text("a", "1")
            if let token { MultipartPart.text("TOKEN", .secret(token)) }
            if token == nil { MultipartPart.text("never", "") } else { MultipartPart.text("else", "") }
            for name in ["x", "y"] { MultipartPart.file("FILE", path: "/\(name).jpg") }
            none
            [.text("l", "1"), .text("l", "2")]
            MultipartForm([.text("last", "")])
        }
        #expect(form.parts.map(\.name) == ["a", "TOKEN", "else", "FILE", "FILE", "l", "l", "last"])
        #expect(form.parts[1].description.contains("<redacted>"))
    }

    @Test func `a dictionary literal keeps the order, with repeated names and nested values`()
        async throws
    {
        let count = 2
        let form: MultipartForm = [
            "z": "last letter", "TOKEN": .secret("s3cret"), "n": 42, "x": 1.5, "yes": true, "t": "\(count) copies",
            "owner": ["name": "张三", "phones": ["1", "2"]], "z": "again", "FILE": .data([1, 2], fileName: "a.png"),
            "j": .json(["k": 1]),
        ]
        #expect(
            form.parts.map(\.name) == [
                "z", "TOKEN", "n", "x", "yes", "t", "owner[name]", "owner[phones][]", "owner[phones][]", "z", "FILE",
                "j",
            ])
        let text = String(decoding: try await allBytes(of: form.prepared()), as: UTF8.self)
        for value in [
            "last letter", "s3cret", "\r\n42\r\n", "\r\n1.5\r\n", "\r\ntrue\r\n", "2 copies", "张三", "{\"k\":1}",
        ] {
            #expect(text.contains(value))
        }
        #expect(!"\(form)".contains("s3cret"))
        let empty: MultipartForm = [:]
        #expect(empty.parts.isEmpty)
    }

    @Test func `filesLast keeps the order within both groups and the index of each part`() async throws {
        var form: MultipartForm = [
            .data("f", [1], fileName: "1"), .text("a", "1"), .data("f", [2], fileName: "2"), .data("d", [3]),
            .text("a", "2"),
        ]
        let given = try await form.prepared()
        #expect(given.parts.map(\.name) == ["f", "a", "f", "d", "a"])
        form.order = .filesLast
        let body = try await form.prepared()
        #expect(body.parts.map(\.name) == ["a", "d", "a", "f", "f"])
        #expect(body.parts.map(\.fileName) == [nil, nil, nil, "1", "2"])
        form.parts[2].contentType = "\n"
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.partIndex == 2)
    }

    private struct Rendered: PartPreparing {
        var fileName: String?
        func prepare() async throws -> PreparedPart { PreparedPart(content: .bytes([1]), fileName: fileName) }
    }

    @Test func `a part that is prepared as a file is sorted with the files`() async throws {
        var form: MultipartForm = [
            .data("f1", [1], fileName: "1"), .preparing("f2", with: Rendered(fileName: "a.pdf")), .text("key", "k"),
            .preparing("made", with: Rendered()), .data("f3", [2], fileName: "3"), .text("last", "l"),
        ]
        form.order = .filesLast
        let body = try await form.prepared()
        #expect(body.parts.map(\.name) == ["key", "made", "last", "f1", "f2", "f3"])
        #expect(body.parts.map(\.fileName) == [nil, nil, nil, "1", "a.pdf", "3"])
    }

    @Test func `a range of a file is sent, and one beyond its end is refused`() async throws {
        let directory = try TemporaryDirectory()
        let bytes = pattern(200_000)
        let path = try directory.file("a.bin", bytes)
        for range in [0..<0, 0..<200_000, 1..<2, 65_535..<199_999, 200_000..<200_000] as [Range<Int64>] {
            let form: MultipartForm = [.text("a", "1"), .file("f", path: path, range: range), .text("b", "2")]
            var body = try await form.prepared()
            for allowsNonblocking in [true, false] {
                body.disk.allowsNonblocking = allowsNonblocking
                let sent = try await allBytes(of: body, room: 10_000)
                #expect(Int64(sent.count) == body.contentLength)
                let part = body.parts[1].range
                #expect(
                    sent[Int(part.lowerBound)..<Int(part.upperBound)].elementsEqual(
                        bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            }
        }
        for range in [0..<200_001, 200_001..<200_002, -1..<5] as [Range<Int64>] {
            let form: MultipartForm = [.file("f", path: path, range: range)]
            #expect(await BodyError.Code.thrown { _ = try await form.prepared() } == .invalidRange)
        }
    }

    @Test func `a file changed outside the range is detected`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.bin", pattern(1_000))
        let body = try await MultipartForm([.file("f", path: path, range: 0..<10)]).prepared()
        try directory.append([1], to: path)
        #expect(await BodyError.Code.thrown { _ = try await allBytes(of: body) } == .sourceChanged)
    }

    @Test func `parts have their own headers`() async throws {
        let form: MultipartForm = [.text("a", "1").header("X-A", "1").header("X-A", "2")]
        let text = String(decoding: try await allBytes(of: form.prepared()), as: UTF8.self)
        #expect(text.contains("name=\"a\"\r\nX-A: 1\r\nX-A: 2\r\n\r\n1\r\n"))
    }

    @Test func `names keep slashes and dots, and a file part uses its last path component`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.jpg", [1])
        let form: MultipartForm = [
            .data("../k/1", [1], fileName: "../../etc/passwd"), .data("b", [1], fileName: "C:\\x\\a.jpg"),
            .file("f", path: path),
        ]
        let body = try await form.prepared()
        #expect(body.parts.map(\.fileName) == ["../../etc/passwd", "C:\\x\\a.jpg", "a.jpg"])
        let text = String(decoding: try await allBytes(of: body), as: UTF8.self)
        #expect(text.contains("name=\"../k/1\"; filename=\"../../etc/passwd\"") && text.contains("\"C:\\x\\a.jpg\""))
    }

    @Test func `a million parts are sent and counted`() async throws {
        let form = MultipartForm([MultipartPart](repeating: .text("n", "v"), count: 1_000_000))
        let one = try #require(
            try await MultipartForm([.text("n", "v")]).prepared(boundary: MultipartBoundary("b")).contentLength)
        let closing = Int64("--b--\r\n".utf8.count)
        let body = try await form.prepared(boundary: MultipartBoundary("b"))
        #expect(body.contentLength == (one - closing) * 1_000_000 + closing)
        #expect(body.parts.count == 1_000_000)
        var count: Int64 = 0
        for try await chunk in body.chunks(ofSize: 1 << 20) { count += Int64(chunk.count) }
        #expect(count == body.contentLength)
        #expect(body.description.utf8.count < 1_000)
        let code = await BodyError.Code.thrown { try await form.check(against: FormLimits(maxParts: 1_000)) }
        #expect(code == .tooManyParts)
    }
}

@Suite struct PreviewTests {
    @Test func `a preview shows every header and content size, but no content`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file("a.jpg", pattern(10_000))
        var form: MultipartForm = [
            .text("TOKEN", .secret("s3cret")), .text("e", ""), .data("big", pattern(5_000)), .file("FILE", path: path),
            .file("none", path: try directory.file("empty", [])), .text("t", "text\u{1B}[31m"),
            .stream("s", CountedStream(chunks: []), length: nil), .data("a\u{1B}", [], fileName: "x\u{202E}gpj"),
        ]
        form.unknownLength = .chunked
        let body = try await form.prepared(boundary: MultipartBoundary("golden"))
        #expect(
            body.preview() == """
                --golden
                Content-Disposition: form-data; name="TOKEN"

                <6 bytes>
                --golden
                Content-Disposition: form-data; name="e"

                <0 bytes>
                --golden
                Content-Disposition: form-data; name="big"
                Content-Type: application/octet-stream

                <5000 bytes>
                --golden
                Content-Disposition: form-data; name="FILE"; filename="a.jpg"
                Content-Type: image/jpeg

                <10000 bytes>
                --golden
                Content-Disposition: form-data; name="none"; filename="empty"
                Content-Type: application/octet-stream

                <0 bytes>
                --golden
                Content-Disposition: form-data; name="t"

                <9 bytes>
                --golden
                Content-Disposition: form-data; name="s"
                Content-Type: application/octet-stream

                <a stream of unknown length>
                --golden
                Content-Disposition: form-data; name="a\\u{1b}"; filename="x\\u{202e}gpj"
                Content-Type: application/octet-stream

                <0 bytes>
                --golden--

                """)
        #expect(try await MultipartForm().prepared(boundary: MultipartBoundary("b")).preview() == "--b--\n")
    }

    @Test func `a header that may contain a credential is redacted wherever it is printed`() async throws {
        let form: MultipartForm = [
            .text("a", "1").header("Authorization", "Bearer s3cret").header("Content-Language", "de: at")
                .header("X-Empty", "")
        ]
        let preview = try await form.prepared(boundary: MultipartBoundary("golden")).preview()
        #expect(
            preview == """
                --golden
                Content-Disposition: form-data; name="a"
                Authorization: <redacted>
                Content-Language: de: at
                X-Empty: <redacted>

                <1 bytes>
                --golden--

                """)
        var dumped = "\(form.parts[0].headers) \(String(reflecting: form.parts[0].headers))"
        dump(form.parts[0].headers, to: &dumped)
        #expect(!dumped.contains("s3cret") && !form.curlArguments.lines.joined().contains("s3cret"))
    }

    @Test func `a preview of 100,000 parts contains all of them`() async throws {
        let form = MultipartForm((0..<100_000).map { .text("field\($0)", "\($0)") })
        let preview = try await form.prepared().preview()
        #expect(preview.utf8.count > 100_000 && preview.contains("name=\"field99999\"\n\n<5 bytes>"))
    }
}
