import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ReaderPoolTests {
    private final class Held: Sendable {}

    /// Regression test: the waiting task used to be resumed before the thread had released the work. In rare cases a
    /// file that should have been removed still existed, and a lock was still held.
    @Test func `objects held only by the work are released when its result is available`() async throws {
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

    @Test func `an error is propagated, and objects held by the work are released`() async {
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

    /// A job that hangs until the test ends, as on an unreachable file system.
    private final class HangingJob: PoolJob {
        private let gate: Gate
        let hasBegun = Watched(false)
        let isAbandoned = Watched(false)

        init(_ gate: Gate) { self.gate = gate }

        func run() {
            hasBegun.update { $0 = true }
            gate.wait()
        }

        let isLimited = true
        func abandon(after limit: Duration) { isAbandoned.update { $0 = true } }
    }

    @Test func `hanging jobs do not block others`() async throws {
        let (pool, gate) = (ReaderPool(), Gate())
        defer { gate.open() }
        let jobs = (0..<20).map { _ in HangingJob(gate) }
        for job in jobs { pool.submit(job) }
        for job in jobs { _ = try await job.hasBegun.waitUntil { $0 } }
        for number in 0..<100 {
            let found = try await pool.run { () throws(BodyError) in number }
            #expect(found == number)
        }
    }

    @Test func `jobs beyond the thread limit wait and are abandoned`() async throws {
        let (pool, gate) = (ReaderPool(limit: .seconds(2)), Gate())
        defer { gate.open() }
        let jobs = (0..<100).map { _ in HangingJob(gate) }
        for job in jobs { pool.submit(job) }
        for job in jobs { _ = try await job.isAbandoned.waitUntil { $0 } }
        let begun = jobs.count { $0.hasBegun.value }
        #expect(begun > 20 && begun < 64, "\(begun)")
    }

    @Test func `a write waits longer than the limit and is not lost`() async throws {
        let (pool, gate) = (ReaderPool(limit: .milliseconds(200)), Gate())
        let jobs = (0..<100).map { _ in HangingJob(gate) }
        for job in jobs { pool.submit(job) }
        let written = Task { try await pool.run { () throws(BodyError) in 7 } }
        // Submitted after the others; when a later job has been abandoned, the write has waited for its limit.
        for job in jobs { _ = try await job.isAbandoned.waitUntil { $0 } }
        let last = HangingJob(gate)
        pool.submit(last)
        _ = try await last.isAbandoned.waitUntil { $0 }
        gate.open()
        #expect(try await written.value == 7)
    }

    @Test func `a hanging file is an error that names it`() async throws {
        let (pool, gate) = (ReaderPool(limit: .milliseconds(50)), Gate())
        let error = await #expect(throws: BodyError.self) {
            try await pool.run(reading: "/net/card.jpg") { () throws(BodyError) in gate.wait() }
        }
        gate.open()
        #expect(error?.code == .readFailed && error?.path == "/net/card.jpg")
        #expect(error?.message.contains("timed out") == true)
        // The pool continues, with its thread returned.
        try await pool.run { () throws(BodyError) in }
    }

    @Test func `writes have no time limit`() async throws {
        let (pool, gate) = (ReaderPool(limit: .milliseconds(20)), Gate())
        let other = HangingJob(gate)
        let result = Task { try await pool.run { () throws(BodyError) in gate.wait() } }
        pool.submit(other)
        _ = try await other.isAbandoned.waitUntil { $0 }
        gate.open()
        try await result.value
    }
}
