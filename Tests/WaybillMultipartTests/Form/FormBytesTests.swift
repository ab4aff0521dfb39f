import Testing
import WaybillCore
import WaybillMultipart

@Suite struct FormBytesTests {
    let boundary: MultipartBoundary

    init() throws {
        boundary = try MultipartBoundary("golden")
    }

    func text(of form: MultipartForm) async throws -> String {
        String(decoding: try await allBytes(of: try await form.prepared(boundary: boundary)), as: UTF8.self)
    }

    @Test func `a form of fields and a file has exactly the bytes of the WHATWG algorithm`() async throws {
        let form: MultipartForm = [
            .text("TOKEN", .secret("abc")), .text("TOKEN", "twice"),
            .data("FILE", [0x00, 0xFF], fileName: "front.jpg"),
        ]
        let body = try await form.prepared(boundary: boundary)
        let bytes = try await allBytes(of: body)
        let expected =
            Array(
                """
                --golden\r
                Content-Disposition: form-data; name="TOKEN"\r
                \r
                abc\r
                --golden\r
                Content-Disposition: form-data; name="TOKEN"\r
                \r
                twice\r
                --golden\r
                Content-Disposition: form-data; name="FILE"; filename="front.jpg"\r
                Content-Type: image/jpeg\r
                \r\n
                """.utf8) + [0x00, 0xFF] + Array("\r\n--golden--\r\n".utf8)
        #expect(bytes == expected)
        #expect(body.contentLength == Int64(expected.count))
        #expect(body.contentType == "multipart/form-data; boundary=golden")
        #expect(body.isReplayable)
    }

    @Test func `an empty form is its closing line`() async throws {
        #expect(try await text(of: []) == "--golden--\r\n")
    }

    @Test func `only quotes and line breaks are escaped in names`() async throws {
        let form: MultipartForm = [
            .data("a\nb\rc\"d;e\\f%22g身", [], fileName: "x\ny\r\nz\"身份证 🙂;%.png")
        ]
        let sent = try await text(of: form)
        #expect(sent.contains("name=\"a%0D%0Ab%0D%0Ac%22d;e\\f%22g身\"; filename=\"x%0Ay%0D%0Az%22身份证 🙂;%.png\"\r\n"))
    }

    @Test func `line breaks in texts become CRLF, those in data are kept`() async throws {
        let sent = try await text(of: [.text("t", "1\n2\r3\r\n4\n\n"), .data("d", Array("1\n2\r3".utf8))])
        #expect(sent.contains("\r\n\r\n1\r\n2\r\n3\r\n4\r\n\r\n\r\n--golden"))
        #expect(sent.contains("\r\n\r\n1\n2\r3\r\n--golden"))
    }

    @Test(arguments: [
        ("front.jpg", "image/jpeg"), ("FRONT.JPEG", "image/jpeg"), ("a.b.png", "image/png"),
        ("scan.pdf", "application/pdf"),
        ("noending", "application/octet-stream"), ("odd.xyz", "application/octet-stream"),
        ("", "application/octet-stream"),
    ])
    func `the type of a file follows from its name`(name: String, type: String) async throws {
        #expect(try await text(of: [.data("f", [1], fileName: name)]).contains("\"\r\nContent-Type: \(type)\r\n\r\n"))
    }

    @Test func `an explicit type is used, and a text part has none`() async throws {
        let sent = try await text(of: [.data("f", [1], fileName: "a.jpg", contentType: "x/y"), .text("t", "v")])
        #expect(sent.contains("Content-Type: x/y\r\n"))
        #expect(sent.contains("name=\"t\"\r\n\r\nv\r\n"))
    }

    @Test func `a JSON part has sorted keys and its type`() async throws {
        let sent = try await text(of: [.json("META", ["side": "front", "a/b": "1"])])
        #expect(
            sent.contains(
                "name=\"META\"\r\nContent-Type: application/json\r\n\r\n{\"a/b\":\"1\",\"side\":\"front\"}\r\n"))
    }

    @Test func `additional headers follow those of the form`() async throws {
        var part = MultipartPart.text("t", "v")
        part.headers = [MultipartHeader(name: "X-Side", value: "front")]
        #expect(try await text(of: [part]).contains("name=\"t\"\r\nX-Side: front\r\n\r\nv"))
    }

    @Test func `a prepared part provides type and file name`() async throws {
        struct Made: PartPreparing {
            func prepare() async throws -> PreparedPart {
                PreparedPart(content: .bytes([7]), contentType: "image/jpeg", fileName: "made.jpg")
            }
        }
        let sent = try await text(of: [.preparing("f", fileName: "raw.heic", contentType: nil, with: Made())])
        #expect(sent.contains("filename=\"made.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\u{7}\r\n"))
    }

    @Test func `each part knows the range of its content`() async throws {
        let body = try await MultipartForm([.text("a", "12345"), .data("b", [1, 2], fileName: "n")])
            .prepared(boundary: boundary)
        let bytes = try await allBytes(of: body)
        #expect(body.parts.map(\.name) == ["a", "b"])
        #expect(body.parts.map(\.fileName) == [nil, "n"])
        let contents = body.parts.map { Array(bytes[Int($0.range.lowerBound)..<Int($0.range.upperBound)]) }
        #expect(contents == [Array("12345".utf8), [1, 2]])
    }

    @Test func `names equal in Swift but not in bytes remain two fields`() async throws {
        let sent = try await text(of: [.text("\u{e9}", "1"), .text("e\u{301}", "2")])
        let part = "--golden\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n1\r\n".utf8.count
        let end = "--golden--\r\n".utf8.count
        #expect(sent.utf8.count == 2 * part + 5 + end)
    }
}
