import Logging
import Waybill
import WaybillCore

/// Delivers what is queued: takes items, runs them in tasks of their own, writes down how they ended.
final class Worker: Sendable {
    let core: OutboxCore
    let session: UploadSession
    let registry: KindRegistry
    let configuration: Outbox.Configuration
    let drain: Drain
    let budget: Locked<RetryBuckets>
    /// Why nothing can be written down at the moment; nothing new is begun then.
    let trouble = Locked<String?>(nil)

    init(
        _ core: OutboxCore, _ session: UploadSession, _ registry: KindRegistry, _ configuration: Outbox.Configuration,
        _ drain: Drain
    ) {
        self.core = core
        self.drain = drain
        self.session = session
        self.registry = registry
        self.configuration = configuration
        budget = Locked(RetryBuckets(configuration.retryBudget))
    }

    /// Delivers until the task is cancelled, or until nothing is left that could be done now.
    func run(untilIdle: Bool) async throws(OutboxError) {
        try await begin()
        let hooks = Task { await ResultPump(core, configuration).run() }
        // A group that keeps no results: a hundred thousand deliveries leave nothing behind.
        let result = await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                await Result { () async throws(OutboxError) in try await lease(into: &group, untilIdle: untilIdle) }
            }
        } onCancel: {
            core.stopRunning()
        }
        hooks.cancel()
        await hooks.value
        // A queue that can't be used any more has nothing to tell, however often it is asked.
        try result.get()
        // The program is told of everything before it is told that nothing is left, or that this is the end.
        while !Task.isCancelled, !drain.isOver, !(await ResultPump(core, configuration).catchUp()) {}
    }

    /// A new start is a new chance for lanes that were blocked, and the time to forget what is old.
    private func begin() async throws(OutboxError) {
        for (lane, life) in try await core.store.lanes() where life.blocked != nil {
            try await core.store.lane(lane, .unblock, now: core.now())
        }
        try await clean()
    }

    private func clean() async throws(OutboxError) {
        _ = try await core.store.purge(endedBefore: core.now() - configuration.keepsResults.milliseconds)
        _ = try await core.sweep()
    }

    private func lease(into group: inout DiscardingTaskGroup, untilIdle: Bool) async throws(OutboxError) {
        var nextCleaning = core.now() + Self.cleaningInterval
        while !Task.isCancelled, !drain.isWanted {
            let seen = core.signal.value
            var wait = Self.longestSleep
            let wish = wish()
            if wish.slots > 0, trouble.withLock({ $0 == nil }) {
                do throws(OutboxError) {
                    let answer = try await core.store.lease(wish)
                    for item in answer.items { start(item, in: &group) }
                    if answer.ended > 0 { core.ring() }
                    let isIdle = answer.items.isEmpty && core.running.withLock { $0.isEmpty } && answer.ended == 0
                    if untilIdle, isIdle, core.signal.value == seen, answer.nextDue == nil { return }
                    if let due = answer.nextDue { wait = min(wait, max(1, due - core.now())) }
                } catch {
                    // What no waiting mends is told at once.
                    guard error.code != .closed, error.code != .queueUnusable else { throw error }
                    core.logger?.error("nothing can be taken from the queue", metadata: ["error": "\(error)"])
                    wait = Self.pauseInTrouble
                }
                if core.now() >= nextCleaning {
                    nextCleaning = core.now() + Self.cleaningInterval
                    try? await clean()
                }
            }
            await core.signal.wait(atMost: .milliseconds(wait)) { $0 != seen }
        }
        // What was begun while the cancel came has missed it.
        if Task.isCancelled || drain.isOver { core.stopRunning() }
    }

    private func wish() -> LeaseWish {
        let lanes = core.running.withLock { $0.values.map(\.lane) }
        return LeaseWish(
            token: core.token, slots: max(1, configuration.slots) - lanes.count,
            slotsPerLane: max(1, configuration.slotsPerLane),
            running: Dictionary(lanes.map { ($0, 1) }, uniquingKeysWith: +), now: core.now())
    }

    private func start(_ item: LeasedItem, in group: inout DiscardingTaskGroup) {
        var shown = RunningItem(
            id: OutboxID(rawValue: item.id), attempt: item.life.attempts, isVerifying: false, acknowledged: 0,
            total: item.size, bytesPerSecond: 0, batch: item.batch)
        if case .verify = item.effect { shown.isVerifying = true }
        let entry = RunningDelivery(item: shown, lane: item.lane)
        core.running.withLock { $0[item.id] = entry }
        let task = Task { [self] in
            await ItemRun(worker: self, item: item).run()
            core.running.withLock { _ = $0.removeValue(forKey: item.id) }
            core.ring()
        }
        core.running.withLock { $0[item.id]?.task = task }
        group.addTask { await task.value }
    }

    private static let longestSleep: Int64 = 30_000
    private static let pauseInTrouble: Int64 = 500
    private static let cleaningInterval: Int64 = 3_600_000
}

extension Result where Failure == OutboxError {
    /// Catches what work that waits throws.
    init(_ work: () async throws(OutboxError) -> Success) async {
        do throws(OutboxError) {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
