import Logging
import Waybill

/// The loop of a ``Worker``. Storing results and leasing the next items is one transaction per turn, so that sequential
/// uploads cost one fsync(2) each, and concurrent ones share one.
struct WorkerLoop {
    private let worker: Worker
    /// The results that are not stored yet.
    private var ends: [ItemChange] = []
    /// The number of failed transactions since the last success. Nothing new is started while results cannot be stored.
    private var failures = 0

    private var core: OutboxCore { worker.core }

    init(_ worker: Worker) { self.worker = worker }

    mutating func run(untilIdle: Bool) async throws(OutboxError) {
        while true {
            var seen = core.signal.value
            ends += worker.takeEnds()
            // Deliveries that started concurrently with the cancellation have missed it.
            if worker.mustStop { core.stopRunning() }
            if worker.isEnding, core.running.withLock({ $0.isEmpty }) { return }
            let wish = worker.wish(over: ends)
            var answer = LeaseResult()
            if wish.slots > 0 || !ends.isEmpty {
                do throws(OutboxError) {
                    answer = try await turn(wish, &seen)
                } catch {
                    guard try await shouldRetry(error) else { return }
                    continue
                }
            }
            let isIdle = core.running.withLock { $0.isEmpty }
            if untilIdle, isIdle, wish.slots > 0, answer.ended == 0, answer.nextDue == nil, core.signal.value == seen {
                return
            }
            // The last delivery may have ended in this turn, and no further signal follows it.
            if worker.isEnding, isIdle { continue }
            await wait(seen, due: [answer.nextDue, answer.nextProbe].compactMap(\.self).min(), isIdle: isIdle)
        }
    }

    private mutating func turn(_ wish: LeaseRequest, _ seen: inout Int) async throws(OutboxError) -> LeaseResult {
        if failures > 0 { try await storeIndividually() }
        let (applied, leased) = try await core.store.apply(ends, thenLease: wish)
        failures = 0
        let hasEnds = !ends.isEmpty
        settle(ends, applied)
        ends = []
        for item in leased.items { worker.start(item) }
        if hasEnds {
            // Wakes the result pump; this loop itself needs no further turn.
            core.ring()
            seen += 1
        }
        if leased.ended > 0 { core.ring() }
        return leased
    }

    /// Stores each result in a separate transaction, so that one that cannot be stored does not affect the others.
    private mutating func storeIndividually() async throws(OutboxError) {
        var left: [ItemChange] = []
        var failure: OutboxError?
        for end in ends {
            do throws(OutboxError) {
                settle([end], try await core.store.apply([end], now: core.now()))
            } catch {
                left.append(end)
                failure = error
            }
        }
        if left.count < ends.count { core.ring() }
        ends = left
        if let failure { throw failure }
    }

    private func settle(_ ends: [ItemChange], _ applied: [AppliedChange]) {
        for (end, applied) in zip(ends, applied) {
            if !applied.freed.isEmpty { core.spool.remove(applied.freed) }
            if !applied.isHeard {
                core.logger?.warning("a late result was ignored", metadata: ["item": "\(end.id)"])
            }
        }
        core.running.withLock { running in for end in ends { running[end.id] = nil } }
    }

    /// Whether to continue after a failure: a result is never dropped because the disk is full.
    ///
    /// - Throws: A permanent error, after all deliveries in progress were stopped.
    private mutating func shouldRetry(_ error: OutboxError) async throws(OutboxError) -> Bool {
        failures += 1
        if ends.isEmpty {
            core.logger?.error("leasing items failed", metadata: ["error": "\(error)"])
        } else {
            core.logger?.error(
                "storing results failed; it will be retried",
                metadata: ["items": "\(ends.map(\.id))", "error": "\(error)"])
        }
        let isFatal = error.code == .closed || error.code == .queueUnusable
        // A worker that must stop leaves the items leased; they will be verified.
        if isFatal || worker.mustStop && failures >= Self.finalAttempts {
            await stopAll()
            if isFatal { throw error }
            return false
        }
        try? await Task.sleep(for: Self.pauseAfterFailure)
        return true
    }

    /// Stops the deliveries in progress and waits until they have stopped.
    private mutating func stopAll() async {
        core.stopRunning()
        while true {
            let seen = core.signal.value
            ends += worker.takeEnds()
            core.running.withLock { running in for end in ends { running[end.id] = nil } }
            if core.running.withLock({ $0.isEmpty }) { return }
            await core.signal.wait(ignoresCancellation: true) { $0 != seen }
        }
    }

    private func wait(_ seen: Int, due: Int64?, isIdle: Bool) async {
        // The clock is irrelevant while deliveries are in progress and no item waits for a time.
        guard isIdle || due != nil else {
            await core.signal.wait(ignoresCancellation: true) { $0 != seen }
            return
        }
        let wait = min(Self.longestSleep, max(1, (due ?? .max) - core.now()))
        await core.signal.wait(atMost: .milliseconds(wait)) { $0 != seen }
    }

    private static let longestSleep: Int64 = 30_000
    private static let pauseAfterFailure = Duration.milliseconds(250)
    private static let finalAttempts = 4
}
