import Logging
import Waybill
import WaybillCore

/// The loop of a ``Worker``. Storing results and leasing the next items is one transaction per turn, so that sequential
/// uploads cost one fsync(2) each, and concurrent ones share one.
struct WorkerLoop {
    private let worker: Worker
    /// The results that are not stored yet.
    private var results: [ItemChange] = []
    /// The number of failed transactions since the last success. Nothing new is started while results cannot be stored.
    private var failures = 0

    private var core: OutboxCore { worker.core }

    init(_ worker: Worker) { self.worker = worker }

    mutating func run(untilIdle: Bool) async throws(OutboxError) {
        while true {
            var seen = core.signal.value
            results += worker.takeResults()
            // Deliveries that started concurrently with the cancellation have missed it.
            if worker.mustStop { core.stopRunning() }
            if worker.isEnding, core.running.withLock({ $0.isEmpty }) { return }
            let request = worker.leaseRequest(finished: results)
            var leased = LeaseResult()
            if request.slots > 0 || !results.isEmpty {
                do throws(OutboxError) {
                    leased = try await turn(request, &seen)
                } catch {
                    guard try await shouldRetry(error) else { return }
                    continue
                }
            }
            let isIdle = core.running.withLock { $0.isEmpty }
            if untilIdle, isIdle, request.slots > 0, leased.ended == 0, leased.nextDue == nil,
                core.signal.value == seen
            {
                return
            }
            // The last delivery may have ended in this turn, and no further signal follows it.
            if worker.isEnding, isIdle { continue }
            await wait(seen, due: [leased.nextDue, leased.nextProbe].compactMap(\.self).min(), isIdle: isIdle)
        }
    }

    private mutating func turn(_ request: LeaseRequest, _ seen: inout Int) async throws(OutboxError) -> LeaseResult {
        if failures > 0 { try await storeIndividually() }
        let start = ContinuousClock.now
        let (applied, leased) = try await core.store.apply(results, thenLease: request)
        failures = 0
        core.report(nil)
        let hasResults = !results.isEmpty
        settle(results, applied)
        results = []
        if let duration = core.store.leaseDuration, start.duration(to: .now) >= duration / 2 {
            // The process was paused, or the response was late: the leases may end before the next renewal.
            results = leased.items.map(\.returned)
            if !results.isEmpty { core.signalChange() }
        } else {
            for item in leased.items { worker.start(item) }
        }
        if hasResults {
            // Wakes the result pump; this loop itself needs no further turn.
            core.signalChange()
            seen += 1
        }
        if leased.ended > 0 { core.signalChange() }
        return leased
    }

    /// Stores each result in a separate transaction, so that one that cannot be stored does not affect the others.
    private mutating func storeIndividually() async throws(OutboxError) {
        var left: [ItemChange] = []
        var failure: OutboxError?
        for result in results {
            do throws(OutboxError) {
                settle([result], try await core.store.apply([result]))
            } catch {
                left.append(result)
                failure = error
            }
        }
        if left.count < results.count { core.signalChange() }
        results = left
        if let failure { throw failure }
    }

    private func settle(_ results: [ItemChange], _ applied: [AppliedChange]) {
        for (result, applied) in zip(results, applied) {
            if !applied.freed.isEmpty { core.bodies.remove(applied.freed) }
            if !applied.isAccepted {
                core.logger?.warning("a late result was ignored", metadata: ["item": "\(result.id)"])
            }
        }
        core.removeEnded(results)
    }

    /// Whether to continue after a failure: a result is never dropped because the disk is full.
    ///
    /// - Throws: A permanent error, after all deliveries in progress were stopped.
    private mutating func shouldRetry(_ error: OutboxError) async throws(OutboxError) -> Bool {
        failures += 1
        if results.isEmpty {
            core.logger?.error("leasing items failed", metadata: ["error": "\(error)"])
        } else {
            core.logger?.error(
                "storing results failed; it will be retried",
                metadata: ["items": "\(results.map(\.id))", "error": "\(error)"])
        }
        let isFatal = error.code == .closed || error.code == .queueUnusable
        // A worker that must stop leaves the items leased; they will be verified.
        if isFatal || worker.mustStop && failures >= Self.finalAttempts {
            await stopAll()
            if isFatal { throw error }
            return false
        }
        core.report(error)
        if core.isShared, !worker.mustStop {
            // The store may be unreachable for hours.
            await core.signal.wait(atMost: Self.backoff.delay(after: failures)) { [worker] _ in worker.mustStop }
        } else {
            try? await Task.sleep(for: Self.pauseAfterFailure)
        }
        return true
    }

    /// Stops the deliveries in progress and waits until they have stopped.
    private mutating func stopAll() async {
        core.stopRunning()
        while true {
            let seen = core.signal.value
            results += worker.takeResults()
            core.removeEnded(results)
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
        let wait = min(Self.longestSleep, max(1, due ?? .max))
        await core.signal.wait(atMost: .milliseconds(wait)) { $0 != seen }
    }

    private static let longestSleep: Int64 = 30_000
    private static let pauseAfterFailure = Duration.milliseconds(250)
    private static let backoff = Backoff(from: pauseAfterFailure, to: .seconds(15))
    private static let finalAttempts = 4
}

extension LeasedItem {
    /// The change that ends the lease of an item that was not worked on.
    fileprivate var returned: ItemChange {
        let lease = life.leaseNumber
        if case .verify = effect { return ItemChange(id, .verdict(.later("interrupted", delay: 0), lease: lease)) }
        return ItemChange(id, .ended(.aborted, lease: lease))
    }
}
