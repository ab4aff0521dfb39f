import Waybill

/// The names of marks.
package enum OutboxMark {
    package static let acknowledged = "acknowledged"
    package static let handled = "hooked"
    /// The last sequence number.
    package static let sequence = "sequence"
    /// The last result that a consumer of the program has acknowledged.
    package static func consumer(_ name: String) -> String { "consumer:\(name)" }
}

/// The names of claims.
package enum OutboxClaim {
    /// Passing results to the program's closure.
    package static let results = OutboxMark.handled
    /// Purging old items and unused staged files.
    package static let cleaning = "cleaning"
}

/// The policy for an unfinished item with the same deduplication key.
public enum DuplicatePolicy: String, Sendable, Hashable, Codable {
    /// The existing item is kept, and nothing is added.
    case keep
    /// The existing item is cancelled; if it is being sent, the new item waits for it to end.
    case replace
    /// The new item is sent after the existing one has ended, with whatever result.
    case append
}

/// An item to be added.
package struct NewItem: Sendable, Codable {
    package var kind: String
    package var lane: String
    package var spec: String
    package var life: ItemLife
    package var priority: Int
    package var batch: String?
    package var tags: [String]
    package var deduplicationKey: String?
    package var duplicates: DuplicatePolicy
    package var idempotencyKey: String
    /// Whether the idempotency key was generated for this item, so that no other item has it. Not sent to other processes.
    package var isKeyNew = false
    package var size: Int64?
    /// The names of files outside of the store.
    package var staged: [String]
    /// The files that the store keeps with the item. Only a shared store has any.
    package var bodies: [StagedBody] = []
    /// The only machine whose workers can read the files of the item; `nil` if all can.
    package var host: String?
    /// The milliseconds from enqueuing, or from the end of the delay, to the deadline; replaces the deadline of ``life``.
    package var timeLimit: Int64?
    /// The milliseconds from enqueuing to the earliest start of the first attempt; `nil` for no delay.
    package var delay: Int64?
    /// The milliseconds for which the deduplication key stays reserved after the item was delivered.
    package var keyPeriod: Int64?

    /// The coding keys of release 0.1, which are used between processes. Items with bodies or a host are not sent to
    /// other processes.
    private enum CodingKeys: String, CodingKey {
        case kind, lane, spec, life, priority, batch, tags, duplicates, idempotencyKey, size, staged, timeLimit,
            delay, keyPeriod
        case deduplicationKey = "dedupeKey"
    }

    package init(
        kind: String, lane: String, spec: String, life: ItemLife = ItemLife(), priority: Int = 5, batch: String? = nil,
        tags: [String] = [], deduplicationKey: String? = nil, duplicates: DuplicatePolicy = .keep,
        idempotencyKey: String, size: Int64? = nil, staged: [String] = [], bodies: [StagedBody] = [],
        host: String? = nil, timeLimit: Int64? = nil, delay: Int64? = nil,
        keyPeriod: Int64? = nil
    ) {
        self.kind = kind
        self.lane = lane
        self.spec = spec
        self.life = life
        self.priority = priority
        self.batch = batch
        self.tags = tags
        self.deduplicationKey = deduplicationKey
        self.duplicates = duplicates
        self.idempotencyKey = idempotencyKey
        self.size = size
        self.staged = staged
        self.bodies = bodies
        self.host = host
        self.timeLimit = timeLimit
        self.delay = delay
        self.keyPeriod = keyPeriod
    }

    /// Returns the time from which the item may be sent, in milliseconds since 1970.
    private func start(_ now: Int64) -> Int64 { now + min(max(delay ?? 0, 0), ItemLife.longestDelay) }

    /// Returns the state of the item when it is enqueued at a time.
    package func life(at now: Int64) -> ItemLife {
        var life = life
        life.deadline = deadline(now)
        if start(now) > now { life.wait(until: start(now)) }
        return life
    }

    /// Returns the time after which no attempt is started, in milliseconds since 1970.
    package func deadline(_ now: Int64) -> Int64? {
        timeLimit.map { start(now) + min($0, .max / 4) } ?? life.deadline
    }

    /// Returns the rank among ready items; the smallest is sent first. Five minutes of waiting count as much as a
    /// priority number smaller by one, so that no item waits indefinitely behind more urgent ones. The rank never
    /// changes, so it can be indexed.
    package func rank(_ now: Int64) -> Int64 {
        let (rank, overflow) = start(now).addingReportingOverflow(Int64(min(max(priority, 0), 9)) * Self.agingStep)
        return overflow ? now : rank
    }

    private static let agingStep: Int64 = 300_000
}

/// A file that a store keeps with its item.
package struct StagedBody: Sendable, Hashable {
    /// The name, which is unique in the store.
    package var name: String
    package var bytes: [UInt8]

    package init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
}

/// The result of enqueuing one item.
package struct EnqueuedItem: Sendable, Codable, Hashable {
    /// The ID of the item, or that of the existing item.
    package var id: Int64
    package var isNew: Bool
    /// Whether the existing item was delivered, and its key is reserved.
    package var isDelivered: Bool?
    /// Items that are being sent and have to be stopped.
    package var aborts: [Int64] = []
    /// Staged files of items that were replaced.
    package var freed: [String] = []

    package init(id: Int64, isNew: Bool, isDelivered: Bool? = nil, aborts: [Int64] = [], freed: [String] = []) {
        self.id = id
        self.isNew = isNew
        self.isDelivered = isDelivered
        self.aborts = aborts
        self.freed = freed
    }
}

/// A worker's request for items.
package struct LeaseRequest: Sendable {
    package var token: String
    package var slots: Int
    package var slotsPerLane: Int
    /// The number of items in progress per lane.
    package var running: [String: Int]
    /// The name of the worker's machine; `nil` for a store that one machine uses.
    package var host: String?

    package init(
        token: String, slots: Int, slotsPerLane: Int, running: [String: Int] = [:], host: String? = nil
    ) {
        self.token = token
        self.host = host
        self.slots = slots
        self.slotsPerLane = slotsPerLane
        self.running = running
    }
}

package struct LeaseResult: Sendable {
    package var items: [LeasedItem] = []
    /// The milliseconds until the next request if nothing else happens; `nil` if there is no reason for one.
    package var nextDue: Int64?
    /// The milliseconds until an item of a blocked lane is tried, or until the delay of an item ends. A caller that waits
    /// for all items to end does not wait for that.
    package var nextProbe: Int64?
    /// The number of items that ended because their deadline has passed.
    package var ended = 0

    package init() {}
}

/// A leased item.
package struct LeasedItem: Sendable, Hashable {
    package var id: Int64
    package var kind: String
    package var lane: String
    package var spec: String
    package var life: ItemLife
    package var effect: ItemLife.Effect
    package var idempotencyKey: String
    package var resume: [UInt8]?
    package var size: Int64?
    package var batch: String?
    /// The milliseconds since the first attempt; 0 for the first.
    package var sinceFirstAttempt: Int64
}

/// An event of an item, and possibly of its lane.
package struct ItemChange: Sendable {
    package var id: Int64
    package var event: ItemLife.Event
    package var lane: LaneLife.Event?
    package var response: StoredResponse?
    package var resume: [UInt8]?
    package var spec: String?
    /// The number of body bytes sent, for the history of attempts.
    package var sent: Int64?

    package init(
        _ id: Int64, _ event: ItemLife.Event, lane: LaneLife.Event? = nil, response: StoredResponse? = nil,
        resume: [UInt8]? = nil, spec: String? = nil, sent: Int64? = nil
    ) {
        self.id = id
        self.event = event
        self.lane = lane
        self.response = response
        self.resume = resume
        self.spec = spec
        self.sent = sent
    }
}

package struct AppliedChange: Sendable, Hashable {
    /// The new state of the item; `nil` if the item does not exist.
    package var life: ItemLife?
    package var effects: [ItemLife.Effect]
    /// Whether the event was accepted.
    package var isAccepted: Bool
    /// Staged files that are no longer needed.
    package var freed: [String] = []

    package init(life: ItemLife?, effects: [ItemLife.Effect], isAccepted: Bool, freed: [String] = []) {
        self.life = life
        self.effects = effects
        self.isAccepted = isAccepted
        self.freed = freed
    }
}

package struct ControlResult: Sendable, Codable, Hashable {
    /// The number of items that changed.
    package var changed = 0
    /// Items that are being sent and have to be stopped.
    package var aborts: [Int64] = []
    /// Staged files that are no longer needed.
    package var freed: [String] = []

    package init() {}
}

/// A selection of items: all items that match every non-`nil` property.
public struct ItemSelection: Sendable, Hashable, Codable {
    /// Matches items with these IDs.
    public var ids: [OutboxID]?
    /// Matches items of this batch.
    public var batch: String?
    /// Matches items with this tag.
    public var tag: String?
    /// Matches items of this lane.
    public var lane: String?
    /// Matches items in these states.
    public var states: Set<OutboxState>?

    /// Creates a selection.
    public init(
        ids: [OutboxID]? = nil, batch: String? = nil, tag: String? = nil, lane: String? = nil,
        states: Set<OutboxState>? = nil
    ) {
        self.ids = ids
        self.batch = batch
        self.tag = tag
        self.lane = lane
        self.states = states
    }

    /// All items.
    public static let all = ItemSelection()
    /// Returns a selection of one item.
    public static func item(_ id: OutboxID) -> ItemSelection { ItemSelection(ids: [id]) }
    /// All failed items.
    public static let failed = ItemSelection(states: [.failed])
}

/// The number of items and bytes in each state.
public struct OutboxTally: Sendable, Hashable, Codable {
    /// The number of items by state.
    public var counts: [OutboxState: Int] = [:]
    /// The number of bytes by state, as far as it is known.
    public var bytes: [OutboxState: Int64] = [:]

    /// Creates an empty tally.
    public init() {}

    /// The number of items in a state.
    public subscript(_ state: OutboxState) -> Int { counts[state] ?? 0 }
    /// The number of all items.
    public var total: Int { counts.values.reduce(0, +) }
    /// The number of items that have not ended.
    public var unfinished: Int { counts.filter { !$0.key.isTerminal }.values.reduce(0, +) }
}
