import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct BatchRunTests {
    @Test func `no item starts in place of one whose failure stops the batch`() async {
        var options = UploadBatchOptions()
        options.onFailure = .stop
        for _ in 0..<20 {
            let clock = HookedClock()
            let run = BatchRun<Int, FailingUpload>(options: options, window: 1, count: 2, clock: clock)
            // The batch reads the clock before each change. The first read after the failure gives the other thread
            // time to take an item.
            clock.onRead { [weak run] in
                guard let run, run.state.read({ $0.batchState.counts[.failed] == 1 }) else { return false }
                let end = ContinuousClock.now + .milliseconds(10)
                while run.state.read({ !$0.batchState.isStopped && $0.batchState.taken == 1 }), .now < end {
                    sched_yield()
                }
                return true
            }
            run.start(0..<2) { _ in BatchWork { FailingUpload() } }
            let summary = await run.finished()
            #expect(summary.taken == 1 && summary.failed == 1 && summary.cancelled == 0)
        }
    }
}

/// An upload that fails as soon as it has started.
private struct FailingUpload: BatchUpload {
    static var startsWithoutCallbacks: Bool { true }
    static var sumsRates: Bool { false }

    func pause() {}
    func resume() {}
    func cancel() {}
    func follow(_ body: (UploadProgress) -> Bool) async {}
    func bytes(of result: Result<Int, UploadError>) -> (acknowledged: Int64, total: Int64?) { (0, nil) }

    func finished() async -> Result<Int, UploadError> {
        .failure(UploadError(.rejected, "The backend rejected the form.", phase: .failed))
    }
}

/// A clock with a closure that runs each time it is read, until the closure returns `true`.
private final class HookedClock: Clock {
    private let hook = Locked<(@Sendable () -> Bool)?>(nil)

    func onRead(_ body: @escaping @Sendable () -> Bool) { hook.withLock { $0 = body } }

    var now: ContinuousClock.Instant {
        if let body = hook.withLock({ $0 }), body() { hook.withLock { $0 = nil } }
        return .now
    }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await Task.sleep(until: deadline, tolerance: tolerance)
    }
}
