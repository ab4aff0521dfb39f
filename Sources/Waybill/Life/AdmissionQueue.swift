package import WaybillCore

/// Who may prepare and who may send: at most `slots` transfers at once, `slotsPerHost` of them to one host and as many of
/// a group as that one has, first come, first served among uploads of one priority.
///
/// A step of priority is worth `reach` places: uploads are served by their number in line less `reach` for each step. So
/// nobody is overtaken by more than `reach` later uploads for each step that those are above it.
///
/// Uploads pass through two lines. In the first they *wait* and have nothing open; from it they are called to prepare.
/// In the second they are *ready* and hold files and images; from it they are given slots. At most `slots + 2` uploads
/// are between the two calls, so that the next body is there when a slot falls free, and a batch of a hundred thousand
/// opens no more than a batch of ten.
///
/// A busy host blocks nobody else: a slot goes to the first whose host and group have room. Nor can it fill the window: at
/// most `slotsPerHost + 2` of the uploads ahead may be such as their host has no room for, and at most two such as their
/// group has none for.
///
/// Who is *held* keeps its place and is passed over until it is released. It does not count as ahead, whatever it has
/// prepared, so that paused uploads keep nobody else from preparing. An upload that comes back for another attempt is ready
/// already; it joins the end of the second line and does not count as ahead either.
package struct AdmissionQueue: Sendable {
    /// Who is called. The queue has already counted them.
    package struct Calls: Sendable, Equatable {
        package var prepare: [UploadID] = []
        package var start: [UploadID] = []
        package init(prepare: [UploadID] = [], start: [UploadID] = []) {
            self.prepare = prepare
            self.start = start
        }

        package var isEmpty: Bool { prepare.isEmpty && start.isEmpty }
    }

    enum Stage: Sendable { case waiting, preparing, ready, running }

    struct Entry: Sendable {
        let host: String
        let group: String?
        var lane: Lane
        var stage: Stage
        let ticket: Int64
        var priority: UploadPriority
        /// Whether no attempt of it was made yet.
        let isFirst: Bool
        var isHeld: Bool

        var isAhead: Bool { isFirst && !isHeld && (stage == .preparing || stage == .ready) }
    }

    /// Uploads that the same limits are for. Groups without a limit have no lane of their own, so their number is free.
    struct Lane: Sendable, Hashable {
        var host: String
        var group: String?
    }

    /// The two lines of a lane. Who left the middle of one, or is held, is skipped when it gets to the front.
    struct Lines: Sendable {
        var waiting = PriorityLines()
        var ready = PriorityLines()
        var members = 0
    }

    /// What a host or a group has of the session.
    struct Usage: Sendable {
        var ahead = 0
        var running = 0
        var members = 0

        func room(under limit: Int) -> Int { max(0, limit - running) }
        /// How many of those ahead would find no room.
        func blocked(under limit: Int) -> Int { max(0, ahead - room(under: limit)) }
    }

    let slots: Int
    let slotsPerHost: Int
    let reach: Int64
    var entries: [UploadID: Entry] = [:]
    var lanes: [Lane: Lines] = [:]
    var hosts: [String: Usage] = [:]
    /// Of the groups with a limit of their own.
    var groups: [String: Usage] = [:]
    var groupSlots: [String: Int] = [:]
    private var nextTicket: Int64 = 0
    var halts = 0

    /// Transfers that hold a slot.
    package internal(set) var running = 0
    /// Uploads that prepare or are ready for their first attempt.
    package internal(set) var ahead = 0
    /// Uploads that stand in one of the lines and are not held. Where there is none, nobody has to be looked for.
    var waitingInLine = 0
    var readyInLine = 0
    /// All uploads that are in a line or hold something.
    package var count: Int { entries.count }

    /// More than any process has descriptors. Sums of it don't overflow.
    package static let mostSlots = 1 << 24

    /// A queue with so many slots; less than one counts as one.
    package init(slots: Int, slotsPerHost: Int, reach: Int = 100) {
        self.slots = min(max(1, slots), Self.mostSlots)
        self.slotsPerHost = min(max(1, slotsPerHost), Self.mostSlots)
        self.reach = Int64(max(0, min(reach, 1 << 40)))
    }
}

// MARK: - Uploads

extension AdmissionQueue {
    /// A new upload joins the first line.
    ///
    /// - Complexity: O(lanes), as all verbs: hosts, and groups with a limit.
    package mutating func join(
        _ id: UploadID, host: String, group: String? = nil, priority: UploadPriority = .normal, isHeld: Bool = false
    ) -> Calls {
        add(id, host, group, .waiting, priority, isHeld)
    }

    /// A called upload is prepared and joins the second line.
    package mutating func ready(_ id: UploadID) -> Calls {
        guard let old = entries[id], old.stage == .preparing else { return Calls() }
        // With its old number: who took long to prepare does not lose its place, and is not overtaken as often again.
        var entry = old
        entry.stage = .ready
        count(from: old, to: entry)
        return place(id, entry)
    }

    /// An upload that had left comes back for another attempt.
    package mutating func requeue(
        _ id: UploadID, host: String, group: String? = nil, priority: UploadPriority = .normal, isHeld: Bool = false
    ) -> Calls {
        add(id, host, group, .ready, priority, isHeld)
    }

    /// An upload becomes more or less urgent. It keeps its number in line.
    ///
    /// - Complexity: linear in the uploads of that priority in its lane, if any of them came later; else O(lanes).
    package mutating func prioritize(_ id: UploadID, _ priority: UploadPriority) -> Calls {
        guard let entry = entries[id], entry.priority != priority else { return Calls() }
        update(id) { $0.priority = priority }
        return call()
    }

    /// An upload is passed over from now on. It keeps its number in line, and a slot that it has been given.
    package mutating func hold(_ id: UploadID) -> Calls {
        guard entries[id]?.isHeld == false else { return Calls() }
        update(id) { $0.isHeld = true }
        return call()
    }

    /// It is no longer passed over.
    ///
    /// - Complexity: as for ``prioritize(_:_:)``.
    package mutating func release(_ id: UploadID) -> Calls {
        guard entries[id]?.isHeld == true else { return Calls() }
        update(id) { $0.isHeld = false }
        return call()
    }

    /// A held upload does not take up the call that was on its way: it goes back to where it stood.
    package mutating func stepBack(_ id: UploadID) -> Calls {
        guard let entry = entries[id], entry.stage == .preparing || entry.stage == .running else { return Calls() }
        update(id) { entry in
            entry.stage = entry.stage == .running ? .ready : .waiting
            entry.isHeld = true
        }
        return call()
    }

    /// An upload leaves, from wherever it is, and gives back what it holds. Leaving twice is harmless.
    package mutating func leave(_ id: UploadID) -> Calls {
        guard let entry = entries.removeValue(forKey: id) else { return Calls() }
        unregister(entry)
        return call()
    }

    private mutating func add(
        _ id: UploadID, _ host: String, _ group: String?, _ stage: Stage, _ priority: UploadPriority, _ isHeld: Bool
    ) -> Calls {
        guard entries[id] == nil else { return Calls() }
        nextTicket += 1
        let entry = Entry(
            host: host, group: group, lane: lane(host, group), stage: stage, ticket: nextTicket, priority: priority,
            isFirst: stage == .waiting, isHeld: isHeld)
        register(entry)
        return place(id, entry)
    }

    /// Gives an upload that has come to a line its place in it, and calls.
    private mutating func place(_ id: UploadID, _ entry: Entry) -> Calls {
        guard isCalledAtOnce(entry) else {
            entries[id] = entry
            line(id, entry)
            return call()
        }
        var called = entry
        called.stage = entry.stage == .ready ? .running : .preparing
        count(from: entry, to: called)
        entries[id] = called
        guard called.stage == .running else { return Calls(prepare: [id]) }
        // It is no longer ahead, which may let somebody prepare.
        var calls = call()
        calls.start.insert(id, at: 0)
        return calls
    }
}

// MARK: - Books

extension AdmissionQueue {
    func lane(_ host: String, _ group: String?) -> Lane {
        Lane(host: host, group: group.flatMap { groupSlots[$0] == nil ? nil : $0 })
    }

    mutating func update(_ id: UploadID, _ change: (inout Entry) -> Void) {
        guard let old = entries[id] else { return }
        var entry = old
        change(&entry)
        count(from: old, to: entry)
        entries[id] = entry
        line(id, entry)
    }

    /// Stands an entry in the line that it belongs to, unless it stands there.
    mutating func line(_ id: UploadID, _ entry: Entry) {
        guard !entry.isHeld else { return }
        switch entry.stage {
        case .waiting: lanes[entry.lane]?.waiting.insert(id, entry.ticket, entry.priority)
        case .ready: lanes[entry.lane]?.ready.insert(id, entry.ticket, entry.priority)
        case .preparing, .running: break
        }
    }

    mutating func register(_ entry: Entry) {
        lanes[entry.lane, default: Lines()].members += 1
        hosts[entry.host, default: Usage()].members += 1
        count(from: nil, to: entry)
    }

    mutating func unregister(_ entry: Entry) {
        count(from: entry, to: nil)
        lanes[entry.lane]?.members -= 1
        if lanes[entry.lane]?.members == 0 { lanes[entry.lane] = nil }
        hosts[entry.host]?.members -= 1
        if hosts[entry.host]?.members == 0 { hosts[entry.host] = nil }
    }

    /// Takes an entry out of the counts, or into them, or changes it; host and lane stay the same.
    private mutating func count(from old: Entry?, to new: Entry?) {
        func change(_ isCounted: (Entry) -> Bool) -> Int {
            (new.map(isCounted) == true ? 1 : 0) - (old.map(isCounted) == true ? 1 : 0)
        }
        guard let entry = new ?? old else { return }
        waitingInLine += change { $0.stage == .waiting && !$0.isHeld }
        readyInLine += change { $0.stage == .ready && !$0.isHeld }
        let (ahead, running) = (change(\.isAhead), change { $0.stage == .running })
        guard ahead != 0 || running != 0 else { return }
        self.ahead += ahead
        self.running += running
        if let host = hosts.index(forKey: entry.host) {
            hosts.values[host].ahead += ahead
            hosts.values[host].running += running
        }
        guard let group = entry.lane.group else { return }
        groups[group]?.ahead += ahead
        groups[group]?.running += running
    }
}
