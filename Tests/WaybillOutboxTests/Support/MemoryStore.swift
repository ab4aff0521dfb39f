import TestSupport
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// Items in memory: the model for the store on disk, and with a lease duration for a store of several machines.
final class MemoryStore: OutboxStore {
    struct Entry {
        var new: NewItem
        var life: ItemLife
        var after: Int64?
        var token: String?
        var resume: [UInt8]?
        var spec: String
        var staged: [String]
        var bodies: [StagedBody]
        var createdAt: Int64
        var endedAt: Int64?
        var sequence: Int64?
        var response = StoredResponse()
        var attempts: [OutboxAttempt] = []

        func item(_ id: Int64) -> OutboxItem {
            OutboxItem(
                id: OutboxID(rawValue: id), kind: new.kind, lane: new.lane, state: life.state, reason: life.reason,
                attempts: life.attempts, isDoubtful: life.isDoubtful, batch: new.batch, tags: new.tags,
                priorityNumber: new.priority, deduplicationKey: new.deduplicationKey,
                idempotencyKey: new.idempotencyKey, size: new.size,
                createdAt: createdAt, endedAt: endedAt, dueAt: life.dueAt,
                host: new.host)
        }
    }

    struct State {
        var entries: [Int64: Entry] = [:]
        var lanes: [String: LaneLife] = [:]
        var marks: [String: Int64] = [:]
        var reservations: [String: (item: Int64, until: Int64)] = [:]
        var lastID: Int64 = 0
        /// The time at which the leases of each worker end.
        var workers: [String: Int64] = [:]
        /// The workers that have claims.
        var claims: [String: String] = [:]

        var order: [Int64] { entries.keys.sorted() }

        /// The last unfinished item of a key: no other one waits for it.
        func lastDuplicate(_ key: String?) -> Int64? {
            let all = unfinished(key)
            return all.last { one in !all.contains { entries[$0]?.after == one } }
        }

        func unfinished(_ key: String?) -> [Int64] {
            guard let key else { return [] }
            return order.filter {
                entries[$0]?.new.deduplicationKey == key && entries[$0]?.life.state.isTerminal == false
            }
        }
    }

    let executor: (any TaskExecutor)? = nil
    private let listeners = Locked<[AsyncStream<Void>.Continuation]>([])
    /// The number of renewals, and whether they fail.
    let renewals = Watched((count: 0, fail: false))
    /// The number of calls that may have changed items.
    let changes = Watched(0)
    /// Whether responses with leased items are delayed.
    let holdsLeases = Observed(false)
    /// Whether renewals do not return.
    let isHanging = Observed(false)
    /// Whether calls that change items reach the store, and the number of those that did not.
    let outage = Watched((isReachable: true, failures: 0))
    private let state = Locked(State())
    /// The clock, in milliseconds since 1970.
    private let now: @Sendable () -> Int64
    /// The time after which the leases of a worker end; `nil` if the leases of all other workers end at a recovery.
    let leaseDuration: Duration?

    init(leaseDuration: Duration? = nil, now: @escaping @Sendable () -> Int64) {
        self.leaseDuration = leaseDuration
        self.now = now
    }

    var wakeups: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        listeners.withLock { $0.append(continuation) }
        return stream
    }

    /// Notifies all processes of a change.
    private func wake() { for listener in listeners.withLock({ $0 }) { listener.yield() } }

    /// Keeps the leases of a worker for another lease duration.
    private func keep(_ token: String, _ state: inout State) {
        if let leaseDuration { state.workers[token] = now() + leaseDuration.milliseconds }
    }

    private func reach() throws(OutboxError) {
        let isReachable = outage.update { outage in
            if !outage.isReachable { outage.failures += 1 }
            return outage.isReachable
        }
        guard isReachable else { throw OutboxError(.storeUnreachable, "The store cannot be reached.") }
    }

    func renew(_ leases: [HeldLease], token: String) async throws(OutboxError) -> [LeaseStatus] {
        await isHanging.wait(ignoresCancellation: true) { !$0 }
        try reach()
        let fails = renewals.update { renewals in
            renewals.count += 1
            return renewals.fail
        }
        guard !fails else { throw OutboxError(.storageFailed, "The store cannot be reached.") }
        return state.withLock { state in
            keep(token, &state)
            return leases.map { lease in
                guard let entry = state.entries[lease.item], entry.token == token else { return .lost }
                return entry.life.status(ofLease: lease.number)
            }
        }
    }

    func enqueue(_ items: [NewItem]) async throws(OutboxError) -> [EnqueuedItem] {
        try reach()
        defer {
            changes.update { $0 += 1 }
            wake()
        }
        return state.withLock { state in items.map { state.insert($0, now()) } }
    }

    func lease(_ request: LeaseRequest) async throws(OutboxError) -> LeaseResult {
        state.withLock { state in
            keep(request.token, &state)
            return state.lease(request, now())
        }
    }

    func apply(_ events: [ItemChange]) async throws(OutboxError) -> [AppliedChange] {
        try reach()
        defer { changes.update { $0 += 1 } }
        return state.withLock { state in events.map { state.apply($0, now()) } }
    }

    func apply(
        _ events: [ItemChange], thenLease request: LeaseRequest
    ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult) {
        try reach()
        let result = state.withLock { state in
            keep(request.token, &state)
            return (events.map { state.apply($0, now()) }, state.lease(request, now()))
        }
        changes.update { $0 += 1 }
        if !events.isEmpty { wake() }
        if !result.1.items.isEmpty { await holdsLeases.wait(ignoresCancellation: true) { !$0 } }
        return result
    }

    func life(_ id: Int64) -> ItemLife? { state.withLock { $0.entries[id]?.life } }

    func control(
        _ event: ItemLife.Event, _ selection: ItemSelection
    ) async throws(OutboxError) -> ControlResult {
        defer { changes.update { $0 += 1 } }
        return state.withLock { state in
            var result = ControlResult()
            for id in state.order where state.entries[id].map({ selection.includes($0.item(id)) }) == true {
                let before = state.entries[id]?.life
                let (effects, freed) = state.handle(event, id, now())
                if state.entries[id]?.life != before { result.changed += 1 }
                if effects.contains(.abort) { result.aborts.append(id) }
                result.freed += freed
            }
            return result
        }
    }

    func claim(_ name: String, token: String) async throws(OutboxError) -> Bool {
        try reach()
        return state.withLock { state in
            keep(token, &state)
            if let holder = state.claims[name], holder != token, state.workers[holder].map({ $0 > now() }) ?? false {
                return false
            }
            state.claims[name] = token
            return true
        }
    }

    func release(_ name: String, token: String) async throws(OutboxError) {
        state.withLock { if $0.claims[name] == token { $0.claims[name] = nil } }
    }

    func body(_ name: String, of lease: HeldLease, token: String) async throws(OutboxError) -> [UInt8]? {
        state.withLock { state in
            guard let entry = state.entries[lease.item], entry.token == token,
                entry.life.status(ofLease: lease.number) != .lost
            else { return nil }
            return entry.bodies.first { $0.name == name }?.bytes
        }
    }

    func recover(token: String) async throws(OutboxError) -> Int {
        try reach()
        defer { changes.update { $0 += 1 } }
        return state.withLock { state in
            var count = 0
            keep(token, &state)
            let living = state.workers.filter { $0.value > now() }.keys
            for id in state.order {
                guard let entry = state.entries[id], entry.token != token else { continue }
                if leaseDuration != nil, let holder = entry.token, living.contains(holder) { continue }
                guard entry.life.state == .leased || entry.life.isVerifying else { continue }
                if entry.life.state == .leased { count += 1 }
                _ = state.handle(.lost, id, now())
            }
            return count
        }
    }

    func items(
        _ selection: ItemSelection, after id: Int64, limit: Int
    ) async throws(OutboxError) -> [OutboxItem] {
        state.withLock { state in
            Array(
                state.order.filter { $0 > id }.compactMap { state.entries[$0]?.item($0) }.filter(selection.includes)
                    .prefix(limit))
        }
    }

    func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail? {
        state.withLock { state in
            guard let entry = state.entries[id] else { return nil }
            return StoredDetail(
                item: entry.item(id), spec: entry.spec, sequence: entry.sequence, response: entry.response,
                deadline: entry.life.deadline, maxAttempts: entry.life.maxAttempts, onUnknown: entry.life.onUnknown,
                onChange: entry.life.onChange, attempts: entry.attempts)
        }
    }

    func tally(batch: String?) async throws(OutboxError) -> OutboxTally {
        state.withLock { state in
            var tally = OutboxTally()
            for entry in state.entries.values where batch == nil || entry.new.batch == batch {
                tally.counts[entry.life.state, default: 0] += 1
                tally.bytes[entry.life.state, default: 0] += entry.new.size ?? 0
            }
            return tally
        }
    }

    func results(after sequence: Int64, limit: Int) async throws(OutboxError) -> [OutboxResult] {
        state.withLock { state in
            let ends = state.entries.compactMap { id, entry in entry.sequence.map { ($0, id) } }
            return ends.filter { $0.0 > sequence }.sorted { $0 < $1 }.prefix(limit).compactMap { number, id in
                guard let entry = state.entries[id] else { return nil }
                return OutboxResult(
                    sequence: number, item: entry.item(id), status: entry.response.status,
                    headers: entry.response.headers, body: entry.response.body, message: entry.response.message,
                    sourceChangedAfterwards: entry.response.sourceChangedAfterwards)
            }
        }
    }

    func lanes() async throws(OutboxError) -> [String: LaneLife] {
        try reach()
        return state.withLock { $0.lanes.filter { $0.value != LaneLife() } }
    }

    func lane(_ name: String, _ event: LaneLife.Event) async throws(OutboxError) {
        state.withLock { $0.lanes[name, default: LaneLife()].handle(event, at: now()) }
    }

    func mark(_ name: String) async throws(OutboxError) -> Int64 { state.withLock { $0.marks[name] ?? 0 } }

    func raise(_ name: String, to value: Int64) async throws(OutboxError) {
        state.withLock { $0.marks[name] = max($0.marks[name] ?? 0, value) }
    }

    func purge(olderThan age: Duration) async throws(OutboxError) -> Int {
        state.withLock { state in
            let limit = now() - age.milliseconds
            let old = state.entries.filter { ($0.value.endedAt ?? .max) < limit }.map(\.key)
            for id in old { state.entries[id] = nil }
            return old.count
        }
    }

    func stagedInUse(_ names: [String]) async throws(OutboxError) -> Set<String> {
        state.withLock { state in Set(state.entries.values.flatMap(\.staged)).intersection(names) }
    }

    func checkIntegrity() async throws(OutboxError) -> String { "ok" }
    func close() async {}
}

extension MemoryStore.State {
    fileprivate mutating func insert(_ item: NewItem, _ now: Int64) -> EnqueuedItem {
        if let (known, entry) = entries.first(where: { $0.value.new.idempotencyKey == item.idempotencyKey }) {
            return EnqueuedItem(
                id: known, isNew: entry.spec == item.spec || !entry.staged.isEmpty && entry.staged == item.staged)
        }
        var added = EnqueuedItem(id: lastID + 1, isNew: true)
        var after: Int64?
        if let there = lastDuplicate(item.deduplicationKey) {
            switch item.duplicates {
            case .keep: return EnqueuedItem(id: there, isNew: false)
            case .append: after = there
            case .replace:
                for id in unfinished(item.deduplicationKey) {
                    let (effects, freed) = handle(.cancel, id, now)
                    if effects.contains(.abort) { added.aborts.append(id) }
                    added.freed += freed
                }
                after = lastDuplicate(item.deduplicationKey)
            }
        } else if item.duplicates == .keep, let key = item.deduplicationKey, let reserved = reservations[key],
            reserved.until > now
        {
            return EnqueuedItem(id: reserved.item, isNew: false, isDelivered: true)
        }
        lastID += 1
        // A suspended lane remains suspended.
        if lanes[item.lane] == nil { lanes[item.lane] = LaneLife() }
        entries[lastID] = MemoryStore.Entry(
            new: item, life: item.life(at: now), after: after, spec: item.spec, staged: item.staged,
            bodies: item.bodies,
            createdAt: now)
        entries[lastID]?.new.bodies = []
        return added
    }

    mutating func handle(
        _ event: ItemLife.Event, _ id: Int64, _ now: Int64, status: Int? = nil, sent: Int64? = nil
    ) -> (effects: [ItemLife.Effect], freed: [String]) {
        guard var entry = entries[id] else { return ([], []) }
        let before = entry.life
        let effects = entry.life.handle(event, at: now)
        if let attempt = OutboxAttempt(event, of: before, status: status, sent: sent, at: now) {
            entry.attempts = (entry.attempts + [attempt]).suffix(20)
        }
        var freed: [String] = []
        let hasEnded = entry.life.state.isTerminal && !before.state.isTerminal
        if hasEnded {
            marks["sequence", default: 0] += 1
            entry.sequence = marks["sequence"]
            entry.endedAt = now
            if entry.life.state == .done, let key = entry.new.deduplicationKey, let period = entry.new.keyPeriod {
                reservations[key] = (id, now + period)
            }
            if entry.life.state != .failed {
                freed = entry.staged
                (entry.staged, entry.bodies) = ([], [])
            }
        } else if before.state.isTerminal, !entry.life.state.isTerminal {
            entry.endedAt = nil
            entry.sequence = nil
            entry.after = lastDuplicate(entry.new.deduplicationKey)
        }
        if entry.life.state != .leased, !entry.life.isVerifying { entry.token = nil }
        entries[id] = entry
        if hasEnded { for other in order where entries[other]?.after == id { entries[other]?.after = entry.after } }
        return (effects, freed)
    }

    fileprivate mutating func apply(_ change: ItemChange, _ now: Int64) -> AppliedChange {
        guard let entry = entries[change.id] else { return AppliedChange(life: nil, effects: [], isAccepted: false) }
        if let event = change.lane { lanes[entry.new.lane, default: LaneLife()].handle(event, at: now) }
        let (effects, freed) = handle(
            change.event, change.id, now, status: change.response?.status, sent: change.sent)
        let isAccepted = entry.life.accepts(change.event)
        if isAccepted {
            if let response = change.response { entries[change.id]?.response = response }
            if let resume = change.resume { entries[change.id]?.resume = resume }
            if let spec = change.spec { entries[change.id]?.spec = spec }
        }
        return AppliedChange(life: entries[change.id]?.life, effects: effects, isAccepted: isAccepted, freed: freed)
    }
}

extension ItemSelection {
    fileprivate func includes(_ item: OutboxItem) -> Bool {
        if let ids, !ids.contains(item.id) { return false }
        if let batch, item.batch != batch { return false }
        if let tag, !item.tags.contains(tag) { return false }
        if let lane, item.lane != lane { return false }
        if let states, !states.contains(item.state) { return false }
        return true
    }
}
