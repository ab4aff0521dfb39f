import Logging
import Waybill
import WaybillCore

/// Delivers queued items: each in its own task, while one loop stores the results and leases the next items.
final class Worker: Sendable {
    let core: OutboxCore
    let session: UploadSession
    let registry: UploadTypeRegistry
    let configuration: Outbox.Configuration
    let budget: Locked<RetryBuckets>
    private let drain: Drain
    private let isStopped = Locked(false)
    /// The results of deliveries that the loop has not stored yet.
    private let results = Locked<[ItemChange]>([])

    init(
        _ core: OutboxCore, _ session: UploadSession, _ registry: UploadTypeRegistry,
        _ configuration: Outbox.Configuration,
        _ drain: Drain
    ) {
        self.core = core
        self.drain = drain
        self.session = session
        self.registry = registry
        self.configuration = configuration
        budget = Locked(RetryBuckets(configuration.retryBudget))
    }

    /// Delivers until the task is cancelled, or until no item can make progress.
    func run(untilIdle: Bool) async throws(OutboxError) {
        try await begin()
        let isShared = core.isShared
        let pump = Task { await ResultPump(core, configuration).run() }
        // A separate task, so that purging many items does not delay the storing of results.
        let cleaner = Task {
            if isShared { try? await clean() }
            while (try? await Task.sleep(for: Self.cleaningInterval)) != nil { try? await clean() }
        }
        let wakeups = Task { for await _ in core.store.wakeups { core.signalChange() } }
        let keeper = core.store.leaseDuration.map { duration in
            Task { await LeaseKeeper(core, duration: duration).run(clock: configuration.leaseClock) }
        }
        // On the executor of the commits, and in a separate task: results are stored after a cancellation, too.
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
            core.signalChange()
        }
        await end([pump, cleaner, wakeups, keeper].compactMap(\.self))
        // A queue that has become unusable has no further results.
        try result.get()
        // The program receives all results before `run` returns.
        while !Task.isCancelled, !drain.mustStop, !(await ResultPump(core, configuration).catchUp()) {}
        if isShared { await end([Task { await releaseClaims() }], cancelling: false) }
    }

    /// Unblocks all lanes and purges old items.
    ///
    /// With a shared store, the start of one of many workers is no sign of new credentials, so that blocked lanes are only
    /// tried; and a store that cannot be reached is no reason to end.
    private func begin() async throws(OutboxError) {
        guard !core.isShared else {
            try? await changeBlockedLanes(.probe)
            return
        }
        try await changeBlockedLanes(.unblock)
        try await clean()
    }

    private func changeBlockedLanes(_ event: LaneLife.Event) async throws(OutboxError) {
        for (lane, life) in try await core.store.lanes() where life.blocked != nil {
            try await core.store.lane(lane, event)
        }
    }

    /// Cancels helper tasks and waits until they have ended. A call of a shared store may never return: its task is waited
    /// for at most some seconds.
    private func end(_ tasks: [Task<Void, Never>], cancelling: Bool = true) async {
        if cancelling { for task in tasks { task.cancel() } }
        let ended = Observed(false)
        Task {
            for task in tasks { await task.value }
            ended.update { $0 = true }
        }
        guard core.isShared else {
            await ended.wait(ignoresCancellation: true) { $0 }
            return
        }
        // In a task of its own, which is not cancelled.
        _ = await Task { await ended.wait(atMost: Self.endTimeout) { $0 } }.value
    }

    private func releaseClaims() async {
        for name in [OutboxClaim.results, OutboxClaim.cleaning] {
            try? await core.store.release(name, token: core.token)
        }
    }

    /// Purges old items and unused staged files. Of the workers of a shared store, one does.
    private func clean() async throws(OutboxError) {
        guard try await core.store.claim(OutboxClaim.cleaning, token: core.token) else { return }
        _ = try await core.store.purge(olderThan: configuration.resultRetention)
        _ = try await core.sweep()
    }

    /// Whether no new deliveries are to be started.
    var isEnding: Bool { drain.isRequested || mustStop }

    /// Whether deliveries in progress are to be stopped, too.
    var mustStop: Bool { drain.mustStop || isStopped.withLock { $0 } }

    /// Returns the results that arrived since the last call.
    func takeResults() -> [ItemChange] {
        results.withLock { results in
            defer { results = [] }
            return results
        }
    }

    /// Returns a request for as many items as there are free slots. Slots of finished items count as free, because
    /// their results are stored in the same transaction.
    func leaseRequest(finished: [ItemChange]) -> LeaseRequest {
        let finished = Set(finished.map(\.id))
        let lanes = core.running.withLock { running in
            running.filter { !finished.contains($0.key) }.values.map(\.lane)
        }
        return LeaseRequest(
            token: core.token,
            slots: isEnding ? 0 : max(0, max(1, configuration.maximumConcurrentDeliveries) - lanes.count),
            slotsPerLane: max(1, configuration.maximumConcurrentDeliveriesPerLane),
            running: Dictionary(lanes.map { ($0, 1) }, uniquingKeysWith: +), host: core.host)
    }

    /// Starts the delivery of a leased item.
    func start(_ item: LeasedItem) {
        var shown = RunningItem(
            id: OutboxID(rawValue: item.id), attempt: item.life.attempts, isVerifying: false, acknowledged: 0,
            total: item.size, bytesPerSecond: 0, batch: item.batch)
        if case .verify = item.effect { shown.isVerifying = true }
        core.begin(item.id, RunningDelivery(item: shown, lane: item.lane, lease: item.life.leaseNumber)) { [self] in
            let result = await ItemRun(worker: self, item: item).run()
            results.withLock { $0.append(result) }
            core.signalChange()
        }
    }

    private static let cleaningInterval = Duration.seconds(3_600)
    private static let endTimeout = Duration.seconds(2)
}

extension Result where Failure == OutboxError {
    /// Creates a result from asynchronous work.
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
    private enum Request {
        case none, finish, stop
    }

    private let request = Locked(Request.none)

    /// Whether no new item is to be leased.
    var isRequested: Bool { request.withLock { $0 != .none } }

    /// Whether deliveries in progress are to be stopped.
    var mustStop: Bool { request.withLock { $0 == .stop } }

    func begin() { request.withLock { if $0 == .none { $0 = .finish } } }

    func end() { request.withLock { $0 = .stop } }
}
