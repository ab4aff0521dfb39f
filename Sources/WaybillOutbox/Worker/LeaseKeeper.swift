import Logging
import WaybillCore

/// Renews the leases of a worker, for a store whose leases end.
///
/// A delivery is stopped if its lease was lost or if its item is to be paused or cancelled. All deliveries are stopped
/// if no renewal has succeeded for half a lease: then no byte is sent after the lease has ended, by the monotonic clock
/// of this machine.
struct LeaseKeeper: Sendable {
    private let core: OutboxCore
    private let duration: Duration

    init(_ core: OutboxCore, duration: Duration) {
        self.core = core
        self.duration = duration
    }

    /// Renews until the task is cancelled.
    func run(clock: some Clock<Duration>) async {
        let last = Observed(clock.now)
        await withTaskGroup { group in
            // Concurrently, because a renewal may take arbitrarily long.
            group.addTask { await stopUnrenewed(last, clock) }
            group.addTask {
                await repeatedly(clock) {
                    let start = clock.now
                    if await renew() { last.update { $0 = start } }
                }
            }
            group.addTask { await repeatedly(clock) { await recover() } }
        }
    }

    /// Works four to five times in a lease duration. Many workers that start together drift apart.
    private func repeatedly(_ clock: some Clock<Duration>, _ work: () async -> Void) async {
        repeat {
            await work()
        } while (try? await clock.sleep(for: duration * Double.random(in: 0.2...0.25))) != nil
    }

    /// Renews all leases.
    ///
    /// - Returns: Whether the store was reached.
    private func renew() async -> Bool {
        let leases = core.leases
        do throws(OutboxError) {
            let statuses = try await core.store.renew(leases, token: core.token)
            core.stop(zip(leases, statuses).filter { $1 != .held }.map(\.0))
            return true
        } catch {
            core.logger?.error("renewing leases failed", metadata: ["error": "\(error)"])
            core.report(error)
            return false
        }
    }

    /// Ends the leases of workers that are gone.
    private func recover() async {
        do throws(OutboxError) {
            let count = try await core.store.recover(token: core.token)
            guard count > 0 else { return }
            core.logger?.notice(
                "deliveries of other workers were interrupted and will be verified", metadata: ["count": "\(count)"])
            core.signalChange()
        } catch {
            core.logger?.error("ending leases of other workers failed", metadata: ["error": "\(error)"])
        }
    }

    private func stopUnrenewed<C: Clock<Duration>>(_ last: Observed<C.Instant>, _ clock: C) async {
        while !Task.isCancelled {
            let limit = last.value.advanced(by: duration / 2)
            if clock.now >= limit {
                core.stopRunning()
                try? await clock.sleep(for: duration / 4)
            } else {
                try? await clock.sleep(until: limit, tolerance: nil)
            }
        }
    }
}
