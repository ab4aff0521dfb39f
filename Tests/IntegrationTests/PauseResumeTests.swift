import TestSupport
import Testing
import Waybill

/// Pausing on real sockets: what the server reads while an upload is paused, and afterwards.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct PauseResumeTests {
    /// Blocks that begin with their number, so that a missing or repeated block is detected.
    private static let bytes: [UInt8] = {
        var block = (0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 << 20)
        for number in 0..<4_096 {
            block[0] = UInt8(truncatingIfNeeded: number)
            block[1] = UInt8(truncatingIfNeeded: number >> 8)
            bytes += block
        }
        return bytes
    }()
    private var bytes: [UInt8] { Self.bytes }

    /// An upper bound for the bytes between the two programs: the buffers of sender, receiver and libcurl.
    private static let inFlight = 8 << 20

    private func progress(of task: UploadTask, where isMet: (UploadProgress) -> Bool) async -> UploadProgress? {
        for await progress in task.progress where isMet(progress) { return progress }
        return nil
    }

    @Test func `a paused body stops and continues without losing a byte`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 1 << 20, until: gate), receiveBuffer: .kibibytes(64))
        let session = UploadSession()
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .seconds(50)
        let task = session.start(.data(bytes), to: server.url("/large"), options: options)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 1 << 20 }
        task.pause()
        // A complete upload on the same engine. When it ends, the pause has taken effect.
        let other = try LoopbackServer()
        _ = try await session.upload(.data([1]), to: other.url())
        gate.open()
        // The server reads the data in flight. Then everything sent is acknowledged, and no more arrives.
        let pausedProgress = try #require(
            await progress(of: task) { $0.isPaused && $0.sent == $0.acknowledged && $0.sent >= 1 << 20 })
        #expect(pausedProgress.sent < 1 << 20 + Self.inFlight)
        for _ in 0..<3 { _ = try await session.upload(.data(Array(bytes.prefix(1 << 20))), to: other.url()) }
        try await server.waitUntil { Int64($0.requests[0].bodyBytesRead) == pausedProgress.sent }
        #expect(await progress(of: task) { _ in true }?.sent == pausedProgress.sent)
        task.resume()
        #expect(try await task.response.attempts.count == 1)
        let request = try await server.request(0)
        #expect(request.body == bytes)
        #expect(server.requests.count == 1)
        #expect(server.state.violations.isEmpty)
    }

    @Test func `an upload paused for too long restarts and arrives complete exactly once`() async throws {
        let server = try LoopbackServer(
            .stall(afterBodyBytes: 1 << 20), otherwise: .respond(200), receiveBuffer: .kibibytes(64))
        var configuration = UploadSession.Configuration()
        configuration.pauseKeepsSlot = .milliseconds(400)
        configuration.maximumConcurrentTransfers = 1
        configuration.options.retry = .none
        configuration.options.transfer.limits.stall = .seconds(50)
        let log = FaultLog()
        configuration.logger = log.logger
        let session = UploadSession(configuration: configuration)
        let task = session.start(.data(bytes), to: server.url("/large"))
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 1 << 20 }
        let other = session.start(.data([1, 2, 3]), to: server.url("/small"))
        task.pause()
        // The only slot is free for another upload, and the connection of the first is closed.
        #expect(try await other.response.status == .ok)
        _ = try await server.peerEnd()
        #expect(task.isPaused)
        task.resume()
        let response = try await task.response
        #expect(response.attempts.map(\.code) == [.paused, nil])
        #expect(response.attempts.map(\.disposition) == [.restart, .end])
        guard case .incomplete = response.attempts[0].outcome else {
            Issue.record("\(response.attempts[0].outcome as Any)")
            return
        }
        for line in ["upload paused", "upload restarted after a pause", "upload resumed"] {
            #expect(log.text.contains(line))
        }
        let whole = server.requests.filter { $0.path == "/large" && $0.isComplete }
        #expect(whole.count == 1)
        #expect(whole.first?.body == bytes)
    }

    @Test func `an upload whose connection ends during a pause restarts without a retry`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour([.read(1 << 20), .wait(gate), .close(.reset)]), otherwise: .respond(200),
            receiveBuffer: .kibibytes(64))
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .seconds(50)
        let task = UploadSession().start(.data(bytes), to: server.url(), options: options)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 1 << 20 }
        task.pause()
        _ = await progress(of: task) { $0.isPaused && $0.sent > 0 }
        gate.open()
        try await server.waitUntil { $0.connections[0].isClosed }
        task.resume()
        #expect(try await task.response.attempts.map(\.disposition) == [.restart, .end])
        #expect(server.requests.filter(\.isComplete).map { $0.body == bytes } == [true])
    }

    @Test func `timeouts do not run while an upload is paused`() async throws {
        let server = try LoopbackServer()
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .milliseconds(300)
        options.transfer.limits.response = .milliseconds(300)
        options.transfer.rateLimit = .mebibytes(8)
        let session = UploadSession()
        let task = session.start(.data(bytes), to: server.url(), options: options)
        _ = await progress(of: task) { $0.acknowledged > 0 }
        task.pause()
        // Another upload takes longer than the timeouts: 400 KB at 400 KB per second.
        var slow = UploadOptions(retry: .none)
        slow.transfer.rateLimit = .kilobytes(400)
        _ = try await session.upload(.data(Array(bytes.prefix(400_000))), to: server.url(), options: slow)
        #expect(task.state == .executing)
        task.limit(to: nil)
        task.resume()
        #expect(try await task.response.attempts.count == 1)
    }

    @Test func `a form paused in the middle of a file arrives unchanged`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("front.jpg", Array(bytes.prefix(6 << 20)))
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64))
        let form: MultipartForm = [.text("TOKEN", .secret("t")), .file("FILE", path: path)]
        let task = UploadSession().start(form, to: server.url())
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        for _ in 0..<5 {
            task.pause()
            _ = await progress(of: task) { $0.isPaused }
            task.resume()
        }
        gate.open()
        #expect(try await task.response.attempts.count == 1)
        let parts = try Received.parts(of: try await server.request(0))
        #expect(parts.map(\.name) == ["TOKEN", "FILE"])
        #expect(parts[1].bytes == Array(bytes.prefix(6 << 20)))
    }

    @Test func `cancelling a group ends active and queued uploads, and others arrive`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            otherwise: Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate),
            receiveBuffer: .kibibytes(64))
        let session = UploadSession()
        var options = UploadOptions(retry: .none)
        options.group = "thumbnails"
        options.tags = ["order 7"]
        options.transfer.limits.stall = .seconds(50)
        let body = Array(bytes.prefix(8 << 20))
        let inside = (0..<6).map { _ in session.start(.data(body), to: server.url("/in"), options: options) }
        options.group = nil
        let outside = (0..<2).map { _ in session.start(.data(body), to: server.url("/out"), options: options) }
        try await server.waitUntil { $0.requests.count { $0.bodyBytesRead >= 100_000 } == 5 }
        #expect(session.uploads(taggedWith: "order 7").count == 8)
        session.group("thumbnails").cancel()
        for task in inside { await #expect(throws: UploadError.self) { try await task.response } }
        #expect(session.uploads(taggedWith: "order 7").map(\.id) == outside.map(\.id))
        gate.open()
        for task in outside { #expect(try await task.response.status == .ok) }
        #expect(server.requests.filter(\.isComplete).allSatisfy { $0.path == "/out" && $0.body == body })
        #expect(server.requests.count { $0.path == "/in" && $0.isComplete } == 0)
    }
}
