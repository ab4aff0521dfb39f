import WaybillCore
import TestSupport
import Testing

@testable import Waybill
@testable import WaybillCLI

@Suite(.timeLimit(.minutes(Slowness.factor))) struct OrderedWorkTests {
    /// The current and the highest number of concurrent operations.
    private struct Load {
        var now = 0
        var most = 0
    }

    @Test(arguments: [1, 2, 5, 500]) func `results keep their order, and concurrency is bounded`(window: Int)
        async throws
    {
        let load = Locked(Load())
        var delivered: [Int] = []
        try await OrderedWork(window: window).run(Array(0..<200)) { number in
            load.withLock { $0 = Load(now: $0.now + 1, most: max($0.most, $0.now + 1)) }
            for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
            load.withLock { $0.now -= 1 }
            return number * 2
        } deliver: { result throws(CommandFailure) in
            delivered.append(result)
        }
        #expect(delivered == (0..<200).map { $0 * 2 })
        #expect(load.withLock { $0.most } <= window)
    }

    @Test func `after a failure no operation is started and no result is delivered`() async throws {
        let begun = Locked(0)
        var delivered: [Int] = []
        await #expect(throws: CommandFailure.self) {
            try await OrderedWork(window: 3).run(Array(0..<100)) { number in
                begun.withLock { $0 += 1 }
                return number
            } deliver: { result throws(CommandFailure) in
                delivered.append(result)
                if result == 10 { throw CommandFailure.usage("full") }
            }
        }
        #expect(delivered == Array(0...10))
        #expect(begun.withLock { $0 } <= 13)
    }

    @Test func `an empty input finishes immediately`() async throws {
        var delivered = 0
        try await OrderedWork(window: 2).run([Int]()) {
            $0
        } deliver: { _ throws(CommandFailure) in
            delivered += 1
        }
        #expect(delivered == 0)
    }
}
