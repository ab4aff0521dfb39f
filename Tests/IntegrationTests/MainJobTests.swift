import TestSupport
import Testing
import Waybill

/// The main use case with real components: form, session, libcurl and sockets.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct MainJobTests {
    private let folder: TemporaryDirectory
    private let session = UploadSession()

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func card(_ size: Int, name: String = "front.jpg") throws -> String {
        try folder.write(name, (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) })
    }

    @Test func `a form with fields and a file arrives unchanged`() async throws {
        let server = try LoopbackServer(.respond(200, body: #"{"RETCODE":"000000"}"#))
        let path = try card(100_000)
        let form: MultipartForm = [
            .text("TOKEN", .secret("s3cr3t")), .text("BUSINESSNO", "号码 7"),
            .file("FILE", path: path, fileName: "身份证.jpg"),
        ]
        let response = try await session.upload(form, to: server.url("/card"))

        struct Envelope: Decodable { var RETCODE: String }
        #expect(try response.decode(Envelope.self).RETCODE == "000000")
        let request = try await server.request(0)
        #expect(request.method == "POST")
        let parts = try Received.parts(of: request)
        #expect(parts.map(\.name) == ["TOKEN", "BUSINESSNO", "FILE"])
        #expect(parts[0].text == "s3cr3t")
        #expect(parts[1].text == "号码 7")
        #expect(parts[2].fileName == "身份证.jpg")
        #expect(parts[2].contentType == "image/jpeg")
        #expect(parts[2].bytes == (try folder.read("front.jpg")))
        #expect(request.value(of: "Content-Length") == "\(request.body.count)")
    }

    @Test func `front and back are uploaded in order on one connection`() async throws {
        let server = try LoopbackServer()
        for side in ["front.jpg", "back.jpg"] {
            let path = try card(50_000, name: side)
            _ = try await session.upload([.file("FILE", path: path)], to: server.url("/card"))
        }
        let names = try server.requests.map { try Received.parts(of: $0)[0].fileName }
        #expect(names == ["front.jpg", "back.jpg"])
        #expect(server.state.connections.count == 1)
    }

    @Test func `a file, bytes and a stream are sent as raw bodies`() async throws {
        let server = try LoopbackServer()
        let path = try card(300_000)
        let bytes = try folder.read("front.jpg")
        let chunks = AsyncStream<[UInt8]> { continuation in
            for start in stride(from: 0, to: bytes.count, by: 70_000) {
                continuation.yield(Array(bytes[start..<min(start + 70_000, bytes.count)]))
            }
            continuation.finish()
        }
        let contents: [UploadContent] = [
            .file(path: path, contentType: "image/jpeg"), .data(bytes, contentType: "image/jpeg"),
            .stream(chunks, length: Int64(bytes.count), contentType: "image/jpeg"),
        ]
        for content in contents { _ = try await session.upload(content, to: server.url("/raw")) }
        for request in server.requests {
            #expect(request.method == "PUT")
            #expect(request.body == bytes)
            #expect(request.value(of: "Content-Type") == "image/jpeg")
            #expect(request.value(of: "Content-Length") == "\(bytes.count)")
        }
        #expect(server.requests.count == 3)
    }

    @Test func `a stream of unknown length is sent chunked`() async throws {
        let server = try LoopbackServer()
        let chunks = AsyncStream<[UInt8]> { continuation in
            continuation.yield([1, 2, 3])
            continuation.yield([4])
            continuation.finish()
        }
        _ = try await session.upload(.stream(chunks, length: nil, contentType: nil), to: server.url())
        let request = try await server.request(0)
        #expect(request.body == [1, 2, 3, 4])
        #expect(request.value(of: "Transfer-Encoding") == "chunked")
    }

    @Test func `a request without a body needs no form`() async throws {
        let server = try LoopbackServer(.respond(200, body: "pong"))
        let response = try await session.send(UploadRequest(.get, server.url("/ping")))
        #expect(response.text == "pong")
        #expect(try await server.request(0).method == "GET")
    }

    @Test func `a failed attempt is retried, and the form arrives complete`() async throws {
        let server = try LoopbackServer(.reset(afterBodyBytes: 10_000), .respond(503, headers: [("Retry-After", "0")]))
        var options = UploadOptions()
        options.retry.baseDelay = .milliseconds(1)
        options.transfer.rateLimit = .mebibytes(8)
        let path = try card(3_000_000)
        let response = try await session.upload([.file("FILE", path: path)], to: server.url(), options: options)
        #expect(response.attempts.count == 3)
        let parts = try Received.parts(of: try await server.request(2))
        #expect(parts[0].bytes == (try folder.read("front.jpg")))
    }

    @Test func `an upload with an unknown outcome is not resent`() async throws {
        let server = try LoopbackServer(.closeWithoutResponse(), .respond(200))
        let error = await #expect(throws: UploadError.self) {
            try await session.upload([.text("a", "b")], to: server.url())
        }
        #expect(error?.outcome == .unknown)
        #expect(error?.code == .connectionLost)
        #expect(server.requests.count == 1)
    }

    @Test func `concurrent uploads stay within the slots`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200))
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfersPerHost = 3
        let session = UploadSession(configuration: configuration)
        let tasks = (0..<40).map { index in session.start([.text("n", "\(index)")], to: server.url()) }
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(server.state.connections.count <= 3)
        let numbers = try Set(server.requests.map { try Received.parts(of: $0)[0].text })
        #expect(numbers.count == 40)
    }

    @Test func `cancelling the waiting task closes the socket`() async throws {
        let server = try LoopbackServer(.stall(afterBodyBytes: 50_000), receiveBuffer: .kibibytes(64))
        let path = try folder.writeSparse("large.bin", size: 32 << 20)
        let url = server.url()
        let upload = Task { [session] in
            try await session.upload(.file(path: path, contentType: nil), to: url)
        }
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 50_000 }
        upload.cancel()
        let error = await #expect(throws: UploadError.self) { try await upload.value }
        #expect(error?.isCancelled == true)
        _ = try await server.peerEnd()
    }
}
