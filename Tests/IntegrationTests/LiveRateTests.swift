import TestSupport
import Testing
import Waybill

/// Limits that change while bodies are on the wire, as the receiver sees them. Bounds are wide: a busy machine may send more
/// slowly than it is allowed to, never much faster.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LiveRateTests {
    private static let body = UploadContent.data([UInt8](repeating: 7, count: 64 << 20))
    private var body: UploadContent { Self.body }

    /// What lies in buffers when a limit comes, and the pieces that a limit lets out at once.
    private static let slack = 6 << 20

    private func acknowledged(of task: UploadTask, atLeast count: Int64) async -> Int64 {
        for await progress in task.progress where progress.acknowledged >= count { return progress.acknowledged }
        return -1
    }

    private func now(_ task: UploadTask) async -> Int64 {
        for await progress in task.progress { return progress.acknowledged }
        return -1
    }

    @Test func `a limit that comes on the way holds from then on, and can be lifted`() async throws {
        // The receiver is slow enough at first for the limit to come in time.
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 8 << 20, until: gate), receiveBuffer: .kibibytes(64),
            keepsBodies: false)
        let session = UploadSession()
        var options = UploadOptions(retry: .none)
        options.transfer.limits.stall = .seconds(50)
        let task = session.start(body, to: server.url(), options: options)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 8 << 20 }
        task.limit(to: .mebibytes(1))
        let clock = ContinuousClock()
        let start = clock.now
        gate.open()
        // At the old pace all of it would be there in an instant.
        let base = await acknowledged(of: task, atLeast: 8 << 20)
        let later = await acknowledged(of: task, atLeast: base + 1 << 20)
        let allowed = (clock.now - start) / .seconds(1) * Double(1 << 20)
        #expect(Double(later - 8 << 20) <= allowed + Double(Self.slack))
        // Nor does it stand still for what was sent before.
        #expect(later > base)
        #expect(later < 64 << 20)
        task.limit(to: nil)
        #expect(try await task.response.status == .ok)
        #expect(try await server.request(0).bodyBytesRead == 64 << 20)
    }

    @Test func `uploads share the limit of their session, and what one leaves falls to the other`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        var configuration = UploadSession.Configuration()
        configuration.rateLimit = .mebibytes(2)
        let session = UploadSession(configuration: configuration)
        let clock = ContinuousClock()
        let start = clock.now
        let tasks = (0..<2).map { _ in session.start(body, to: server.url()) }
        for task in tasks { _ = await acknowledged(of: task, atLeast: 1 << 20) }
        let both = (await now(tasks[0]), await now(tasks[1]))
        let allowed = (clock.now - start) / .seconds(1) * Double(2 << 20)
        #expect(Double(both.0 + both.1) <= allowed + Double(1 << 20))
        // Equal shares: each sends in pieces of 64 KiB, may have saved up half a second of its share, and is looked at a moment
        // after the other.
        #expect(abs(both.0 - both.1) <= 768 << 10, "\(both)")
        tasks[0].cancel()
        session.limit(to: nil)
        #expect(try await tasks[1].response.status == .ok)
    }

    @Test func `a group keeps its limit while others don't have one`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let session = UploadSession()
        session.group("slow").limit(to: .kibibytes(256))
        var options = UploadOptions(retry: .none)
        options.group = "slow"
        let slow = (0..<2).map { _ in session.start(body, to: server.url("/slow"), options: options) }
        _ = await acknowledged(of: slow[0], atLeast: 1)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try await session.upload(body, to: server.url("/fast")).status == .ok)
        let sum = await now(slow[0]) + now(slow[1])
        let allowed = (clock.now - start) / .seconds(1) * Double(256 << 10)
        #expect(Double(sum) <= allowed + Double(512 << 10))
        session.group("slow").limit(to: nil)
        for task in slow { #expect(try await task.response.status == .ok) }
    }

    @Test func `a rate with a pause in it sends no more than a rate without`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let session = UploadSession()
        var options = UploadOptions(retry: .none)
        options.transfer.rateLimit = .mebibytes(1)
        let clock = ContinuousClock()
        let start = clock.now
        let task = session.start(body, to: server.url(), options: options)
        _ = await acknowledged(of: task, atLeast: 100_000)
        task.pause()
        let paused = clock.now
        // Another upload that takes a second at its rate.
        options.transfer.rateLimit = .kilobytes(400)
        _ = try await session.upload(.data([UInt8](repeating: 8, count: 450_000)), to: server.url(), options: options)
        let stood = clock.now - paused
        let before = await now(task)
        task.resume()
        let after = await acknowledged(of: task, atLeast: before + 300_000)
        let allowed = (clock.now - start - stood) / .seconds(1) * Double(1 << 20)
        // Half a second's worth may have been saved up, and a piece is given in advance.
        #expect(Double(after) <= allowed + Double(1 << 20))
        task.cancel()
    }
}
