import Logging
import Waybill
import WaybillCore

/// The queue in the hands of the one process that has it.
final class OutboxCore: Sendable {
    let store: SQLiteStore
    let spool: Spool
    let token: String
    let logger: Logger?
    let now: @Sendable () -> Int64
    /// Counts what could be worth a look by the worker.
    let signal = Observed(0)
    /// What the worker has under way.
    let running = Locked<[Int64: RunningDelivery]>([:])
    /// Items that were to be stopped between their lease and their begin.
    private let unwanted = Locked<Set<Int64>>([])
    /// Whether deliveries are made here.
    let isDelivering = Locked(false)
    /// Called when somebody else wants to deliver.
    private let stepDown: @Sendable () -> Void
    private let lock: OwnerLock
    private let door = Locked<OwnerDoor?>(nil)

    /// Takes the outbox over: opens the queue, has what others left verified, opens the door.
    static func takeOver(
        _ folder: OutboxFolder, _ lock: OwnerLock, _ configuration: Outbox.Configuration,
        stepDown: @escaping @Sendable () -> Void
    ) async throws(OutboxError) -> OutboxCore {
        let synchronous = configuration.synchronous
        let store = try await BlockingThread.run { () throws(OutboxError) in
            if lock.hasQueue { try folder.requireQueue() }
            let store = try SQLiteStore(path: folder.queue, synchronous: synchronous)
            try lock.noteQueue()
            return store
        }
        try syncFolder(folder.path)
        let core = OutboxCore(
            store, Spool(folder: folder.spool, disk: configuration.spoolDisk), lock, configuration, stepDown)
        do {
            let lost = try await store.recover(token: lock.token, now: configuration.now())
            if lost > 0 {
                core.logger?.notice("deliveries were interrupted and will be verified", metadata: ["count": "\(lost)"])
            }
            let swept = try await core.sweep()
            if let swept, swept > 0 {
                core.logger?.info("staged files that nobody needs were removed", metadata: ["count": "\(swept)"])
            }
            let door = try OwnerDoor(folder) { [weak core] request in
                await core?.reply(to: request) ?? .failed(code: "closed", message: "the outbox was closed")
            }
            core.door.withLock { $0 = door }
        } catch {
            await store.close()
            throw error
        }
        return core
    }

    private init(
        _ store: SQLiteStore, _ spool: Spool, _ lock: OwnerLock, _ configuration: Outbox.Configuration,
        _ stepDown: @escaping @Sendable () -> Void
    ) {
        self.stepDown = stepDown
        self.store = store
        self.spool = spool
        self.lock = lock
        token = lock.token
        logger = configuration.logger
        now = configuration.now
    }

    /// Removes staged files that no row names.
    func sweep() async throws(OutboxError) -> Int? {
        let store = store
        return try await spool.sweep { (names) async throws(OutboxError) in try await store.stagedInUse(names) }
    }

    // Whoever forgets to close an outbox leaves no thread and no socket behind.
    deinit { door.withLock { $0 }?.shutDown() }

    func close() async {
        await door.withLock { $0.take() }?.close()
        await store.close()
    }

    /// Tells the worker that something has changed.
    func ring() { signal.update { $0 += 1 } }

    private func reply(to request: OutboxRequest) async -> OutboxReply {
        do {
            return try await perform(request)
        } catch {
            return .failed(code: error.code.description, message: error.message)
        }
    }

    /// Does what is asked.
    func perform(_ request: OutboxRequest) async throws(OutboxError) -> OutboxReply {
        switch request {
        case .enqueue(let items):
            let added = try await store.enqueue(items, now: now())
            abort(added.flatMap(\.aborts))
            spool.remove(added.flatMap(\.freed))
            ring()
            return .enqueued(added)
        case .control(let event, let selection):
            let answer = try await store.control(event, selection, now: now())
            abort(answer.aborts)
            spool.remove(answer.freed)
            ring()
            return .controlled(answer)
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
            try await store.lane(lane, .unblock, now: now())
            ring()
            return .nothing
        case .yield:
            guard !isDelivering.withLock({ $0 }) else {
                throw OutboxError(.ownedByAnother, "another process delivers from this outbox")
            }
            stepDown()
            return .nothing
        case .running: return .running(running.withLock { $0.values.map(\.item) }.sorted { $0.id < $1.id })
        }
    }

    /// Stops what is being sent, as a cancel does.
    func stopRunning() {
        for task in running.withLock({ $0.values.compactMap(\.task) }) { task.cancel() }
    }

    /// Begins what works on an item.
    func begin(_ id: Int64, _ delivery: RunningDelivery, _ work: @escaping @Sendable () async -> Void) {
        let isUnwanted = running.withLock { running in
            running[id] = delivery
            running[id]?.task = Task { await work() }
            return unwanted.withLock { $0.remove(id) != nil }
        }
        if isUnwanted { abort([id]) }
    }

    private func abort(_ ids: [Int64]) {
        let tasks = running.withLock { running in
            // Leased, and not begun yet: told when it is.
            let early = ids.filter { running[$0] == nil }
            if !early.isEmpty { unwanted.withLock { $0.formUnion(early) } }
            return ids.compactMap { running[$0]?.task }
        }
        for task in tasks { task.cancel() }
    }
}

/// A delivery under way.
struct RunningDelivery: Sendable {
    var item: RunningItem
    var lane: String
    var task: Task<Void, Never>?
}
