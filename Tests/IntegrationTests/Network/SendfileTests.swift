import TestSupport
import Testing
import Waybill
import WaybillCurl

/// Large files over plain HTTP, which the kernel sends from the page cache. Only the speed may
/// differ.
@Suite(
    .enabled(
        if: Kernel.hasCachestat, "needs Linux 6.5 (cachestat(2))"),
    .timeLimit(.minutes(Slowness.factor)))
struct SendfileTests {
    private let folder: TemporaryDirectory
    private let file: String
    private static let size = 12 << 20
    private static let bytes = SeededGenerator.pattern(size)
    private var bytes: [UInt8] { Self.bytes }
    /// The maximum number of bytes copied of a body: its beginning, its end, and some bytes after each call.
    private static let copied: Int64 = 2 << 20

    init() throws {
        folder = try TemporaryDirectory()
        file = try folder.write("scan.bin", Self.bytes)
    }

    private var form: MultipartForm { [.text("TOKEN", .secret("t")), .file("FILE", path: file)] }
    private var patient: UploadOptions {
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .seconds(50)
        return options
    }

    @Test(arguments: Shape.allCases)
    func `a large file arrives unchanged, and most of it is not copied`(shape: Shape) async throws {
        let server = try LoopbackServer()
        let content = shape == .rawPUT ? UploadContent.file(path: file) : .form(form)
        let response = try await UploadSession().send(UploadRequest(.post, server.url(), content: content))
        let request = try await server.request(0)
        let body = shape == .rawPUT ? request.body : try Received.parts(of: request)[1].bytes
        #expect(body == bytes)
        let metrics = response.metrics
        #expect(metrics.sendfileBytes > Int64(Self.size) - Self.copied)
        let head = request.lines.reduce(2) { $0 + $1.utf8.count + 2 }
        #expect(metrics.requestBytes == Int64(head + request.bodyBytesRead))
    }

    @Test func `a form with two large files and fields keeps the connection for the next`() async throws {
        let server = try LoopbackServer()
        let session = UploadSession()
        let form: MultipartForm = [.file("A", path: file), .text("B", "b"), .file("C", path: file), .text("D", "d")]
        for number in 0..<3 {
            let response = try await session.upload(form, to: server.url())
            #expect(response.metrics.connectionsMade == (number == 0 ? 1 : 0))
            #expect(response.metrics.sendfileBytes > 2 * (Int64(Self.size) - Self.copied))
            let parts = try Received.parts(of: try await server.request(number))
            #expect(parts.map(\.name) == ["A", "B", "C", "D"])
            #expect(parts[0].bytes == bytes && parts[2].bytes == bytes)
        }
    }

    @Test func `eight concurrent large uploads arrive complete`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let content = UploadContent.file(path: file)
        let results = await UploadSession().uploadAll(0..<8) { _ in UploadRequest(.put, server.url(), content: content)
        }
        #expect(try results.count { try $0.response.status == .ok } == 8)
        #expect(server.requests.count == 8)
        #expect(server.requests.allSatisfy { $0.digest == BodyDigest(of: bytes) })
    }

    @Test func `a slow receiver gets the whole file, and acknowledged bytes never exceed it`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 8 << 20), receiveBuffer: .kibibytes(64), keepsBodies: false)
        let task = UploadSession().start(UploadRequest(.put, server.url(), content: .file(path: file)))
        var last: UploadProgress?
        for await progress in task.progress {
            // The read count is taken after the snapshot, so it can only have grown.
            #expect(progress.acknowledged <= Int64(server.bodyBytesRead()) + 256 << 10)
            #expect(progress.acknowledged >= last?.acknowledged ?? 0 && progress.sent >= last?.sent ?? 0)
            #expect(progress.acknowledged <= progress.sent && progress.sent <= Int64(Self.size))
            last = progress
        }
        #expect(last?.acknowledged == Int64(Self.size))
        #expect(try await task.response.metrics.sendfileBytes > Int64(Self.size) - Self.copied)
        #expect(try await server.request(0).digest == BodyDigest(of: bytes))
    }

    /// The server stops reading, so the unread data stays in buffers. Pages of a file in there are not copies.
    @Test(arguments: [1_400_000, 3 << 20, 12 << 20], [false, true])
    func `a file modified while it is in the socket buffer never arrives complete`(
        size: Int, isLimitedThen: Bool
    ) async throws {
        let path = try folder.write("card.bin", Array(bytes[..<size]))
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64),
            keepsBodies: false)
        let session = UploadSession()
        let task = session.start(.file(path: path), to: server.url(), options: patient)
        // Waits until the kernel accepts no more data.
        var last: Int64 = -1
        for await progress in task.progress where progress.sent > 300_000 {
            if progress.sent == last { break }
            last = progress.sent
            if last > Int64(min(size, 1 << 20)) - 8_192 { break }
        }
        if isLimitedThen {
            task.limit(to: .mebibytes(512))
            // Other uploads on the same engine. When they end, the limit applies and everything it permitted has been
            // sent.
            let other = try LoopbackServer()
            for _ in 0..<3 { _ = try await session.upload(.data([1]), to: other.url()) }
        }
        try folder.write("card.bin", [1, 2, 3])
        gate.open()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.code == .sourceChanged, "\(error as Any)")
        guard case .incomplete = error?.outcome else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test(arguments: [308, 401, 404, 503])
    func `a status other than success is a response, and the connection is kept`(status: Int) async throws {
        let server = try LoopbackServer(.respond(status, body: "no"), otherwise: .respond(200))
        let session = UploadSession()
        let error = await #expect(throws: UploadError.self) {
            try await session.upload(.file(path: file), to: server.url(), options: patient)
        }
        #expect(error?.response?.status.code == status)
        #expect(error?.response?.body == Array("no".utf8))
        #expect(try await server.request(0).digest == BodyDigest(of: bytes))
        #expect(try await session.upload(.file(path: file), to: server.url()).metrics.connectionsMade == 0)
        #expect(server.state.connections.count == 1)
    }

    @Test func `a 417 to the whole body is a response`() async throws {
        let server = try LoopbackServer(.respond(417, body: "no"))
        var options = patient
        options.transfer.expectContinue = .above(.mebibytes(1), wait: .seconds(50))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(.file(path: file), to: server.url(), options: options)
        }
        #expect(try await server.request(0).values(of: "Expect") == ["100-continue"])
        #expect(error?.response?.status.code == 417, "\(error as Any)")
        #expect(error?.outcome == .rejected)
        #expect(server.requests.count == 1)
    }

    @Test func `a receiver slower than memory is still served by sendfile`() async throws {
        let large = folder.path("large.bin")
        try folder.write("large.bin", (0..<6).flatMap { _ in bytes })
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 40 << 20), receiveBuffer: .kibibytes(64), keepsBodies: false)
        let response = try await UploadSession().upload(.file(path: large), to: server.url(), options: patient)
        #expect(response.metrics.sendfileBytes > Int64(6 * Self.size) * 3 / 4, "\(response.metrics.sendfileBytes)")
    }

    @Test(arguments: [Behaviour.Closing.reset, .abandon, .finish])
    func `a connection lost during sendfile fails like any other`(closing: Behaviour.Closing) async throws {
        let server = try LoopbackServer(
            otherwise: .close(afterBodyBytes: 1 << 20, closing), receiveBuffer: .kibibytes(64), keepsBodies: false)
        var reported: [[String]] = []
        for content in [UploadContent.file(path: file), .data(bytes)] {
            let error = await #expect(throws: UploadError.self) {
                try await UploadSession().upload(content, to: server.url(), options: patient)
            }
            let outcome = try #require(error?.outcome)
            reported.append(["\(error!.code)", "\(FaultRow.Kind(outcome) as Any)"])
        }
        #expect(reported[0] == reported[1])
    }

    @Test func `an early rejection is the response`() async throws {
        let server = try LoopbackServer(
            Behaviour([.read(1 << 20), .send(ScriptedResponse(413)), .hold]), receiveBuffer: .kibibytes(64))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(.file(path: file), to: server.url(), options: patient)
        }
        #expect(error?.response?.status.code == 413)
        #expect(error?.outcome == .rejected)
    }

    @Test func `a server that stops reading is detected`() async throws {
        let server = try LoopbackServer(otherwise: .stall(afterBodyBytes: 1 << 20), receiveBuffer: .kibibytes(64))
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .milliseconds(500)
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(.file(path: file), to: server.url(), options: options)
        }
        #expect(error?.code == .stalled)
    }

    @Test func `a retry sends the whole file again`() async throws {
        let server = try LoopbackServer(.reset(afterBodyBytes: 2 << 20), otherwise: .respond(200))
        var options = patient
        options.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1))
        let request = UploadRequest(.put, server.url(), content: .file(path: file), options: options)
        let response = try await UploadSession().send(request)
        #expect(response.attempts.count == 2)
        #expect(server.requests.last?.body == bytes)
    }

    @Test func `a paused sendfile upload continues without losing a byte`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 1 << 20, until: gate), receiveBuffer: .kibibytes(64))
        let task = UploadSession().start(.file(path: file), to: server.url(), options: patient)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 1 << 20 }
        for _ in 0..<5 {
            task.pause()
            for await progress in task.progress where progress.isPaused { break }
            task.resume()
        }
        gate.open()
        #expect(try await task.response.attempts.count == 1)
        #expect(try await server.request(0).body == bytes)
    }

    @Test func `setting and lifting a rate limit during sendfile loses no byte`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64))
        let task = UploadSession().start(.file(path: file), to: server.url(), options: patient)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        task.limit(to: .mebibytes(16))
        gate.open()
        for await progress in task.progress where progress.acknowledged > 8 << 20 { break }
        task.limit(to: nil)
        _ = try await task.response
        #expect(try await server.request(0).body == bytes)
    }

    @Test func `sendfile is used through a SOCKS proxy, but not with TLS`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let proxy = try await SOCKSProxy()
        let front = try await TLSFront(to: server)
        var options = patient
        options.transfer.proxy = proxy.url()
        let content = UploadContent.file(path: file)
        let response = try await UploadSession().upload(content, to: server.url(), options: options)
        #expect(response.metrics.sendfileBytes > Int64(Self.size) - Self.copied)
        options.transfer.proxy = nil
        options.transfer.tls.certificateAuthorities = front.authority
        let secure = try await UploadSession().upload(content, to: front.url(), options: options)
        #expect(secure.metrics.sendfileBytes == 0)
        #expect(server.requests.map(\.digest) == [BodyDigest(of: bytes), BodyDigest(of: bytes)])
    }
}
