import Logging
import Waybill
import WaybillCore

/// Delivers what is queued: each item in a task of its own, while one loop writes down what ends and takes what goes next.
final class Worker: Sendable {
    let core: OutboxCore
    let session: UploadSession
    let registry: KindRegistry
    let configuration: Outbox.Configuration
    let budget: Locked<RetryBuckets>
    private let drain: Drain
    private let isStopped = Locked(false)
    /// How deliveries ended that the loop has not seen.
    private let ends = Locked<[ItemChange]>([])

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
        // Beside the loop: who has much to forget lets ends be written in between.
        let cleaner = Task {
            while (try? await Task.sleep(for: Self.cleaningInterval)) != nil { try? await clean() }
        }
        // Where the commits are made, and in a task of its own: what ended is written down after a cancel too.
        let loop = Task(executorPreference: core.store.executor) {
            await Result { () async throws(OutboxError) in
                var loop = WorkerLoop(self)
                try await loop.run(untilIdle: untilIdle)
            }
        }
        let result = await withTaskCancellationHandler {
            await loop.value
        } onCancel: {
            isStopped.withLock { $0 = true }
            core.stopRunning()
            core.ring()
        }
        for task in [hooks, cleaner] {
            task.cancel()
            await task.value
        }
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

    /// Whether nothing new is to be begun.
    var isEnding: Bool { drain.isWanted || mustStop }

    /// Whether what is under way is to be stopped, too.
    var mustStop: Bool { drain.isOver || isStopped.withLock { $0 } }

    /// Takes the ends that came since it was asked last.
    func takeEnds() -> [ItemChange] {
        ends.withLock { ends in
            defer { ends = [] }
            return ends
        }
    }

    /// What there is room for. The places of those in `over` are free: their ends are written in the same transaction.
    func wish(over: [ItemChange]) -> LeaseWish {
        let over = Set(over.map(\.id))
        let lanes = core.running.withLock { running in running.filter { !over.contains($0.key) }.values.map(\.lane) }
        return LeaseWish(
            token: core.token, slots: isEnding ? 0 : max(0, max(1, configuration.slots) - lanes.count),
            slotsPerLane: max(1, configuration.slotsPerLane),
            running: Dictionary(lanes.map { ($0, 1) }, uniquingKeysWith: +), now: core.now())
    }

    /// Begins to deliver an item that was leased.
    func start(_ item: LeasedItem) {
        var shown = RunningItem(
            id: OutboxID(rawValue: item.id), attempt: item.life.attempts, isVerifying: false, acknowledged: 0,
            total: item.size, bytesPerSecond: 0, batch: item.batch)
        if case .verify = item.effect { shown.isVerifying = true }
        core.begin(item.id, RunningDelivery(item: shown, lane: item.lane)) { [self] in
            let end = await ItemRun(worker: self, item: item).run()
            ends.withLock { $0.append(end) }
            core.ring()
        }
    }

    private static let cleaningInterval = Duration.seconds(3_600)
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

/// The request to finish or stop deliveries and to begin no new ones.
final class Drain: Sendable {
    private enum Wish {
        case none, finish, stop
    }

    private let wish = Locked(Wish.none)

    /// Whether no new item is to be leased.
    var isWanted: Bool { wish.withLock { $0 != .none } }

    /// Whether the time for deliveries under way has passed.
    var isOver: Bool { wish.withLock { $0 == .stop } }

    func begin() { wish.withLock { if $0 == .none { $0 = .finish } } }

    func end() { wish.withLock { $0 = .stop } }
}
