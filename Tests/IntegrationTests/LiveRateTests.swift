import TestSupport
import Testing
import Waybill

/// Rate limits that change during a transfer, as observed by the receiver. The bounds are wide: a busy machine may
/// send more slowly than the limit, but never much faster.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LiveRateTests {
    private static let body = UploadContent.data([UInt8](repeating: 7, count: 64 << 20))
    private var body: UploadContent { Self.body }

    /// The buffered bytes when a limit is set, and the pieces that a limit sends at a time.
    private static let slack = 6 << 20

    private func acknowledged(of task: UploadTask, atLeast count: Int64) async -> Int64 {
        for await progress in task.progress where progress.acknowledged >= count { return progress.acknowledged }
        return -1
    }

    private func now(_ task: UploadTask) async -> Int64 {
        for await progress in task.progress { return progress.acknowledged }
        return -1
    }

    @Test func `a limit set during a transfer applies from then on and can be lifted`() async throws {
        // The receiver is slow at first, so that the limit is set in time.
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
        // Without the limit, the rest would arrive within moments.
        let base = await acknowledged(of: task, atLeast: 8 << 20)
        let later = await acknowledged(of: task, atLeast: base + 1 << 20)
        let allowed = (clock.now - start) / .seconds(1) * Double(1 << 20)
        #expect(Double(later - 8 << 20) <= allowed + Double(Self.slack))
        // The bytes sent before do not stop the transfer either.
        #expect(later > base)
        #expect(later < 64 << 20)
        task.limit(to: nil)
        #expect(try await task.response.status == .ok)
        #expect(try await server.request(0).bodyBytesRead == 64 << 20)
    }

    @Test func `uploads share the limit of their session, and a freed share is redistributed`() async throws {
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
        // Equal shares: while both send, neither exceeds half of the limit. It may have saved half a second of its
        // share, and sends in pieces of 64 KiB.
        let sharing = clock.now
        let before = (await now(tasks[0]), await now(tasks[1]))
        let after = (
            await acknowledged(of: tasks[0], atLeast: before.0 + 1 << 20),
            await acknowledged(of: tasks[1], atLeast: before.1 + 1 << 20)
        )
        let share = (clock.now - sharing) / .seconds(1) * Double(1 << 20) + Double(768 << 10)
        #expect(Double(max(after.0 - before.0, after.1 - before.1)) <= share, "\(before) \(after)")
        tasks[0].cancel()
        session.limit(to: nil)
        #expect(try await tasks[1].response.status == .ok)
    }

    @Test func `a group keeps its limit while other uploads have none`() async throws {
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

    @Test func `an upload with a rate limit does not catch up after a pause`() async throws {
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
        let pausedTime = clock.now - paused
        let before = await now(task)
        task.resume()
        let after = await acknowledged(of: task, atLeast: before + 300_000)
        let allowed = (clock.now - start - pausedTime) / .seconds(1) * Double(1 << 20)
        // Half a second of the rate may have been saved, and one piece is granted in advance.
        #expect(Double(after) <= allowed + Double(1 << 20))
        task.cancel()
    }
}
