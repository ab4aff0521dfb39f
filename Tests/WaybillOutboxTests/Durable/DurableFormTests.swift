import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillOutbox

@Suite struct DurableFormTests {
    private static let url = "https://backend.example:8443/upload"

    private func roundTripped(_ form: DurableForm) throws -> DurableForm {
        try JSONDecoder().decode(DurableForm.self, from: JSONEncoder().encode(form))
    }

    private func bytes(_ form: DurableForm, _ credentials: any NamedCredentials = CredentialTable { _ in nil })
        async throws
        -> [UInt8]
    {
        var bytes: [UInt8] = []
        for try await chunk in try await form.body(credentials).chunks { bytes += chunk }
        return bytes
    }

    @Test func `a form has the same bytes after encoding and decoding`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("card.pdf", "%PDF-1.4 content")
        var form: MultipartForm = [
            .text("", "unnamed"), .text("LINES", "a\nb"), .data("RAW", [0, 1, 255, 13, 10]), .json("META", ["k": 1]),
            .file("FILE", path: path), .text("ODD", "x").header("X-Note", "here"),
            .file("SLICE", path: path, range: 1..<4, fileName: "s\"q.bin"),
        ]
        form.compatibility.allowsEmptyNames = true
        let boundary = try MultipartBoundary(quoted: "kept here")
        let original = try await form.prepared(boundary: boundary)
        var expected: [UInt8] = []
        for try await chunk in original.chunks { expected += chunk }
        let durable = try await DurableForm(form, to: Self.url, boundary: boundary)
        #expect(try await bytes(roundTripped(durable)) == expected)
        #expect(durable.files.map(\.path) == [path, path])
        #expect(durable.lane.description == "backend.example:8443")
    }

    @Test func `a part is prepared once, when the durable form is created`() async throws {
        struct CountedPart: PartPreparing {
            let count: Watched<Int>
            func prepare() async throws -> PreparedPart {
                let number = count.update { count in
                    count += 1
                    return count
                }
                return PreparedPart(
                    content: .bytes(Array("made \(number)".utf8)), contentType: "image/jpeg", fileName: "photo.jpg")
            }
        }
        let count = Watched(0)
        let durable = try await DurableForm([.preparing("FILE", with: CountedPart(count: count))], to: Self.url)
        let first = try await bytes(durable)
        let text = String(decoding: first, as: UTF8.self)
        #expect(text.contains("filename=\"photo.jpg\"") && text.contains("image/jpeg") && text.contains("made 1"))
        #expect(try await bytes(roundTripped(durable)) == first && count.value == 1)
    }

    @Test func `a credential is stored by name and looked up for each delivery`() async throws {
        let form: MultipartForm = [.credential("TOKEN", named: "backend"), .text("A", "b")]
        let durable = try await DurableForm(form, to: Self.url, credential: .bearer(named: "backend"))
        let text = String(decoding: try JSONEncoder().encode(durable), as: UTF8.self)
        #expect(text.contains("\"backend\"") && !text.contains("s3cr3t"))
        #expect(durable.lane.description == "backend.example:8443 as backend")
        let credentials = CredentialTable { $0 == "backend" ? .secret("s3cr3t") : nil }
        let body = String(decoding: try await bytes(roundTripped(durable), credentials), as: UTF8.self)
        #expect(body.contains("name=\"TOKEN\"\r\n\r\ns3cr3t\r\n"))
        let error = await #expect(throws: UploadError.self) { try await self.bytes(durable) }
        #expect(error?.code == .credentialRefreshFailed && error?.message.contains("backend") == true)
    }

    @Test func `a form that can't be stored is refused with a remedy`() async throws {
        let stream = AsyncStream<[UInt8]> { $0.finish() }
        let cases: [(MultipartForm, HTTPFields, String, String)] = [
            ([.text("TOKEN", .secret("s3cr3t"))], [:], Self.url, ".credential(name, named:)"),
            ([.stream("S", stream, length: nil)], [:], Self.url, "Write it to a file first"),
            ([.text("A", "b")], [.authorization: "Bearer s3cr3t"], Self.url, "named"),
            ([.text("A", "b")], [.cookie: "s3cr3t=1"], Self.url, "named"),
            ([.text("A", "b")], [:], "https://user:s3cr3t@backend.example/", "credential"),
        ]
        for (form, headers, url, remedy) in cases {
            let error = await #expect(throws: UploadError.self) {
                _ = try await DurableForm(form, to: url, headers: headers)
            }
            #expect(
                error?.code == .notDurable && error?.message.contains(remedy) == true, "\(String(describing: error))")
            #expect(error?.description.contains("s3cr3t") == false)
        }
    }

    @Test func `bytes without a staged file can't be encoded`() async throws {
        let large = [UInt8](repeating: 7, count: 20_000)
        let durable = try await DurableForm([.data("D", large)], to: Self.url)
        #expect(durable.files.map(\.count) == [20_000])
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(durable) }
    }

    @Test func `the verdict follows from method and idempotency window`() async throws {
        let session = UploadSession()
        func verdict(_ method: HTTPRequest.Method, _ idempotency: Idempotency, after seconds: Int) async throws
            -> String
        {
            let form = try await DurableForm([.text("A", "b")], to: Self.url, method: method, idempotency: idempotency)
            let delivery = Delivery(session: session, idempotencyKey: "k", sinceFirstAttempt: .seconds(seconds))
            return "\(try await form.verify(delivery))"
        }
        #expect(try await verdict(.post, .ignored, after: 0) == "undetermined")
        #expect(try await verdict(.post, .honoured(window: .seconds(60)), after: 59) == "repeatable")
        #expect(try await verdict(.post, .honoured(window: .seconds(60)), after: 60) == "undetermined")
        #expect(try await verdict(.put, .ignored, after: 0) == "repeatable")
    }

    @Test func `each change of a file is detected`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("f", "content")
        var file = DurableFile(path: path)
        try await file.inspect()
        try await file.check()
        let changes: [(String, () throws -> Void)] = [
            ("grew", { try directory.write("f", "content and more") }),
            ("shrank", { try directory.write("f", "c") }),
            ("modified", { try directory.write("f", "CONTENT") }),
            ("replaced", { try directory.replace("f", with: "content") }),
            ("removed", { directory.remove("f") }),
        ]
        for (what, change) in changes {
            try change()
            let error = await #expect(throws: UploadError.self) { try await file.check() }
            #expect(error?.code == .sourceChanged && error?.message.contains(what) == true, "\(what)")
        }
    }
}
