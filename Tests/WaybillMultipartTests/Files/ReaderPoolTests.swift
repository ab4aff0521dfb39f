import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ReaderPoolTests {
    private final class Held: Sendable {}

    /// Whoever waited used to be woken before the thread had let go: rarely, a file that was to be removed by then was
    /// still there, and a lock still held.
    @Test func `what only the work kept alive is gone when its result is there`() async throws {
        for round in 0..<5_000 {
            weak var held: Held?
            let work = {
                let object = Held()
                held = object
                return { @Sendable () throws(BodyError) in withExtendedLifetime(object) {} }
            }
            try await ReaderPool.shared.run(work())
            guard held == nil else {
                Issue.record("Still held in round \(round).")
                return
            }
        }
    }

    @Test func `an error comes through, and what the work held is gone`() async {
        weak var held: Held?
        let work = {
            let object = Held()
            held = object
            return { @Sendable () throws(BodyError) -> Int in
                _ = object
                throw BodyError(.writeFailed, "No.")
            }
        }
        let error = await #expect(throws: BodyError.self) { try await ReaderPool.shared.run(work()) }
        #expect(error?.code == .writeFailed && held == nil)
    }
}
