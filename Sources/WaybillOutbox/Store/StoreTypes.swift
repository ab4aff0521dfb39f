import Waybill

/// The names of marks.
package enum OutboxMark {
    package static let acknowledged = "acknowledged"
    package static let hooked = "hooked"
    /// The number of the last end.
    package static let sequence = "sequence"
}

/// What is done about an unfinished item with the same key.
public enum DuplicatePolicy: String, Sendable, Hashable, Codable {
    /// The one that is there stays, and nothing is added.
    case keep
    /// The one that is there is cancelled, and the new one goes behind it if it is being sent.
    case replace
    /// The new one goes when the one that is there has ended, whichever way.
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
    package var size: Int64?
    package var staged: [String]

    /// The names that release 0.1 uses between processes.
    private enum CodingKeys: String, CodingKey {
        case kind, lane, spec, life, priority, batch, tags, duplicates, idempotencyKey, size, staged
        case deduplicationKey = "dedupeKey"
    }

    package init(
        kind: String, lane: String, spec: String, life: ItemLife = ItemLife(), priority: Int = 5, batch: String? = nil,
        tags: [String] = [], deduplicationKey: String? = nil, duplicates: DuplicatePolicy = .keep,
        idempotencyKey: String,
        size: Int64? = nil, staged: [String] = []
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
    }

    /// Its place among others that are ready. Smaller goes first: five minutes of waiting count as much as a priority that is
    /// one smaller, so that nothing waits for ever behind what is more urgent. It never changes, and so an index knows it.
    package func rank(_ now: Int64) -> Int64 {
        let (rank, overflow) = now.addingReportingOverflow(Int64(min(max(priority, 0), 9)) * Self.agingStep)
        return overflow ? now : rank
    }

    private static let agingStep: Int64 = 300_000
}

/// What became of an item that was to be added.
package struct EnqueuedItem: Sendable, Codable, Hashable {
    /// Its number, or that of the one that was there.
    package var id: Int64
    package var isNew: Bool
    /// Items that are being sent and have to be stopped.
    package var aborts: [Int64] = []
    /// Staged files of items that were replaced.
    package var freed: [String] = []
}

/// What a worker can take.
package struct LeaseWish: Sendable {
    package var token: String
    package var slots: Int
    package var slotsPerLane: Int
    /// What runs in each lane already.
    package var running: [String: Int]
    package var now: Int64

    package init(token: String, slots: Int, slotsPerLane: Int, running: [String: Int] = [:], now: Int64) {
        self.token = token
        self.slots = slots
        self.slotsPerLane = slotsPerLane
        self.running = running
        self.now = now
    }
}

package struct LeaseAnswer: Sendable {
    package var items: [LeasedItem] = []
    /// When to come again, if nothing else happens; `nil` for no reason to.
    package var nextDue: Int64?
    /// When an item of a blocked lane is tried next. A caller that waits for all items to end does not wait for that.
    package var nextProbe: Int64?
    /// Items that ended instead, their deadline being past.
    package var ended = 0
}

/// An item that was taken.
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
}

/// Something that happened to an item, and maybe to its lane.
package struct ItemChange: Sendable {
    package var id: Int64
    package var event: ItemLife.Event
    package var lane: LaneLife.Event?
    package var answer: KeptAnswer?
    package var resume: [UInt8]?
    package var spec: String?

    package init(
        _ id: Int64, _ event: ItemLife.Event, lane: LaneLife.Event? = nil, answer: KeptAnswer? = nil,
        resume: [UInt8]? = nil, spec: String? = nil
    ) {
        self.id = id
        self.event = event
        self.lane = lane
        self.answer = answer
        self.resume = resume
        self.spec = spec
    }
}

package struct AppliedChange: Sendable, Hashable {
    /// What the item is now; `nil` when there is none.
    package var life: ItemLife?
    package var effects: [ItemLife.Effect]
    /// Whether the event changed anything.
    package var isHeard: Bool
    /// Staged files that nobody needs any more.
    package var freed: [String] = []
}

package struct ControlAnswer: Sendable, Codable, Hashable {
    /// Items that are not what they were.
    package var changed = 0
    /// Items that are being sent and have to be stopped.
    package var aborts: [Int64] = []
    /// Staged files that nobody needs any more.
    package var freed: [String] = []
}

/// Which items are meant: all that fit what is not `nil`.
public struct ItemSelection: Sendable, Hashable, Codable {
    /// These.
    public var ids: [OutboxID]?
    /// Those of a batch.
    public var batch: String?
    /// Those with a name.
    public var tag: String?
    /// Those of a lane.
    public var lane: String?
    /// Those in these states.
    public var states: Set<OutboxState>?

    /// All that fit.
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

    /// Every item.
    public static let all = ItemSelection()
    /// One item.
    public static func item(_ id: OutboxID) -> ItemSelection { ItemSelection(ids: [id]) }
    /// Those that failed.
    public static let failed = ItemSelection(states: [.failed])
}

/// How many items are in which state, and how many bytes they have.
public struct OutboxTally: Sendable, Hashable, Codable {
    /// Items by state.
    public var counts: [OutboxState: Int] = [:]
    /// Bytes by state, as far as they are known.
    public var bytes: [OutboxState: Int64] = [:]

    /// Nothing yet.
    public init() {}

    /// Items in a state.
    public subscript(_ state: OutboxState) -> Int { counts[state] ?? 0 }
    /// All items.
    public var total: Int { counts.values.reduce(0, +) }
    /// Items that have not ended.
    public var unfinished: Int { counts.filter { !$0.key.isTerminal }.values.reduce(0, +) }
}
