import Logging
import Waybill
import WaybillCore

/// The state of an outbox in the process that owns it; of a shared store in each process.
final class OutboxCore: Sendable {
    let store: any OutboxStore
    let bodies: any BodyStorage
    let token: String
    /// The name of this machine; `nil` for an outbox in a directory.
    let host: String?
    let logger: Logger?
    /// Counts the changes that the worker has to react to.
    let signal = Observed(0)
    /// The worker's deliveries in progress.
    let running = Locked<[Int64: RunningDelivery]>([:])
    /// Items that were stopped between their lease and their start.
    private let abortedBeforeStart = Locked<Set<Int64>>([])
    /// Whether this process delivers.
    let isDelivering = Locked(false)
    /// Whether the last call of the worker has failed.
    private let isInterrupted = Locked(false)
    private let storeChanged: (@Sendable (OutboxError?) -> Void)?
    /// Called when another process requests to deliver.
    private let releaseOwnership: @Sendable () -> Void
    /// The lock of the outbox's directory, held as long as this object exists.
    private let lock: OwnerLock?
    private let server = Locked<OwnerServer?>(nil)

    /// Takes over the outbox: opens the queue, marks interrupted deliveries for verification, opens the socket.
    static func takeOver(
        _ directory: OutboxDirectory, _ lock: OwnerLock, _ configuration: Outbox.Configuration,
        releaseOwnership: @escaping @Sendable () -> Void
    ) async throws(OutboxError) -> OutboxCore {
        let store = try await BlockingThread.run { () throws(OutboxError) in
            if lock.hasQueue { try directory.requireQueue() }
            let store = try SQLiteStore(
                path: directory.queue, synchronous: configuration.synchronous, now: configuration.now)
            try lock.recordQueue()
            return store
        }
        try syncDirectory(directory.path)
        let core = OutboxCore(
            store, Spool(directory: directory.spool, operations: configuration.spoolOperations), configuration,
            token: lock.token, lock: lock, releaseOwnership: releaseOwnership)
        do {
            let lost = try await store.recover(token: lock.token)
            if lost > 0 {
                core.logger?.notice("deliveries were interrupted and will be verified", metadata: ["count": "\(lost)"])
            }
            let swept = try await core.sweep()
            if let swept, swept > 0 {
                core.logger?.info("orphaned staged files were removed", metadata: ["count": "\(swept)"])
            }
            let server = try OwnerServer(directory) { [weak core] request in
                await core?.reply(to: request) ?? .failed(code: "closed", message: "The outbox was closed.")
            }
            core.server.withLock { $0 = server }
        } catch {
            await store.close()
            throw error
        }
        return core
    }

    init(
        _ store: any OutboxStore, _ bodies: any BodyStorage, _ configuration: Outbox.Configuration, token: String,
        host: String? = nil, lock: OwnerLock? = nil, releaseOwnership: @escaping @Sendable () -> Void = {}
    ) {
        self.releaseOwnership = releaseOwnership
        self.store = store
        self.bodies = bodies
        self.host = host
        self.lock = lock
        self.token = token
        logger = configuration.logger
        storeChanged = configuration.storeChanged
    }

    /// Reports the error of a call that the worker repeats, or `nil` for its success. Only changes are passed on.
    func report(_ error: OutboxError?) {
        guard isShared, error?.code != .closed else { return }
        let hasChanged = isInterrupted.withLock { isInterrupted in
            defer { isInterrupted = error != nil }
            return isInterrupted != (error != nil)
        }
        if hasChanged { storeChanged?(error) }
    }

    /// Removes staged files that no row names.
    func sweep() async throws(OutboxError) -> Int? {
        let store = store
        return try await bodies.sweep { (names) async throws(OutboxError) in try await store.stagedInUse(names) }
    }

    // An outbox that is released without being closed leaves no thread and no socket behind.
    deinit { server.withLock { $0 }?.shutDown() }

    func close() async {
        await server.withLock { $0.take() }?.close()
        await store.close()
    }

    /// Notifies the worker of a change.
    func signalChange() { signal.update { $0 += 1 } }

    private func reply(to request: OutboxRequest) async -> OutboxReply {
        do {
            return try await perform(request)
        } catch {
            return .failed(code: error.code.description, message: error.message)
        }
    }

    /// Performs a request.
    func perform(_ request: OutboxRequest) async throws(OutboxError) -> OutboxReply {
        switch request {
        case .enqueue(let items):
            let added = try await store.enqueue(items)
            abort(added.flatMap(\.aborts))
            bodies.remove(added.flatMap(\.freed))
            signalChange()
            return .enqueued(added)
        case .control(let event, let selection):
            let result = try await store.control(event, selection)
            abort(result.aborts)
            bodies.remove(result.freed)
            signalChange()
            return .controlled(result)
        case .items(let selection, let after, let limit):
            return .items(try await store.items(selection, after: after, limit: min(limit, 1_000)))
        case .detail(let id): return .detail(try await store.detail(id))
        case .tally(let batch): return .tally(try await store.tally(batch: batch))
        case .results(let after, let limit):
            return .results(try await store.results(after: after, limit: min(limit, 200)))
        case .mark(let name): return .number(try await store.mark(name))
        case .raise(let name, let value):
            try await store.raise(name, to: value)
            return .nothing
        case .lanes: return .lanes(try await store.lanes())
        case .unblock(let lane):
            try await store.lane(lane, .unblock)
            signalChange()
            return .nothing
        case .setRate(let rate, let lane):
            try await store.lane(lane, .setRate(rate))
            signalChange()
            return .nothing
        case .setMaximumConcurrentDeliveries(let count, let lane):
            try await store.lane(lane, .setMaxRunning(count))
            signalChange()
            return .nothing
        case .purge(let age): return try await purge(olderThan: .milliseconds(age))
        case .backUp(let path): return .backedUp(try await backUp(to: path))
        case .yield:
            guard !isDelivering.withLock({ $0 }) else {
                throw OutboxError(
                    .ownedByAnother, "Another process delivers from this outbox. Stop that process first.")
            }
            releaseOwnership()
            return .nothing
        case .running: return .running(try await runningItems())
        }
    }

    /// Whether workers of other machines use the store, too.
    var isShared: Bool { store.leaseDuration != nil }

    /// Returns the deliveries in progress, including those of other machines, whose acknowledged bytes are unknown.
    private func runningItems() async throws(OutboxError) -> [RunningItem] {
        let own = running.withLock { $0.mapValues(\.item) }
        var others: [RunningItem] = []
        if isShared {
            let leased = try await store.items(ItemSelection(states: [.leased]), after: 0, limit: 1_000)
            others = leased.filter { own[$0.id.rawValue] == nil }.map { RunningItem($0) }
        }
        return (own.values + others).sorted { $0.id < $1.id }
    }

    /// The number of bytes that staged files take on the disk of this machine.
    private var stagedBytes: Int64 { (bodies as? Spool)?.allocatedBytes() ?? 0 }

    /// Removes old items and their files, and returns the unused space to the file system.
    private func purge(olderThan age: Duration) async throws(OutboxError) -> OutboxReply {
        let before = try await store.storedBytes() + stagedBytes
        let count = try await store.purge(olderThan: age)
        _ = try await sweep()
        try await store.reclaim()
        let after = try await store.storedBytes() + stagedBytes
        return .purged(items: count, bytes: max(0, before - after))
    }

    /// Stops the deliveries in progress, as cancellation does.
    func stopRunning() {
        for task in running.withLock({ $0.values.compactMap(\.task) }) { task.cancel() }
    }

    /// The leases of the deliveries in progress.
    var leases: [HeldLease] {
        running.withLock { running in running.map { HeldLease(item: $0, number: $1.lease) } }
    }

    /// Removes deliveries that have ended, unless their items have been leased again.
    func removeEnded(_ results: [ItemChange]) {
        running.withLock { running in
            for result in results where running[result.id]?.lease == result.event.lease { running[result.id] = nil }
        }
    }

    /// Stops the deliveries with the given leases.
    func stop(_ leases: [HeldLease]) {
        let tasks = running.withLock { running in
            leases.compactMap { running[$0.item]?.lease == $0.number ? running[$0.item]?.task : nil }
        }
        for task in tasks { task.cancel() }
    }

    /// Starts the task of an item.
    func begin(_ id: Int64, _ delivery: RunningDelivery, _ work: @escaping @Sendable () async -> Void) {
        let wasAborted = running.withLock { running in
            running[id] = delivery
            running[id]?.task = Task { await work() }
            return abortedBeforeStart.withLock { $0.remove(id) != nil }
        }
        if wasAborted { abort([id]) }
    }

    private func abort(_ ids: [Int64]) {
        let tasks = running.withLock { running in
            // Leased, but not started yet: stopped when it starts. Of a shared store, another worker may have it, and the
            // next renewal stops it.
            let early = isShared ? [] : ids.filter { running[$0] == nil }
            if !early.isEmpty { abortedBeforeStart.withLock { $0.formUnion(early) } }
            return ids.compactMap { running[$0]?.task }
        }
        for task in tasks { task.cancel() }
    }
}

/// A delivery in progress.
struct RunningDelivery: Sendable {
    var item: RunningItem
    var lane: String
    /// The lease number.
    var lease: Int64
    var task: Task<Void, Never>?
}
