package import WaybillCore

/// A queue that determines which uploads may prepare and which may send. At most `slots` transfers run concurrently, at
/// most `slotsPerHost` of them to one host, and at most the slots of a group in one group. Uploads of equal priority
/// are served in order of arrival.
///
/// A step of priority is worth `reach` positions: uploads are served by their ticket number less `reach` for each step.
/// An upload is therefore overtaken by at most `reach` later uploads for each step of difference.
///
/// Uploads pass through two lines. In the first they are *waiting* and have nothing open; from it they are called to
/// prepare. In the second they are *ready* and hold files and images; from it they are given slots. At most `slots + 2`
/// uploads are between the two calls. The next body is thus prepared when a slot becomes free, and a batch of 100,000
/// uploads opens no more files than a batch of ten.
///
/// A busy host does not block other hosts: a slot goes to the first upload whose host and group have capacity. Nor can
/// a busy host fill the window: at most `slotsPerHost + 2` of the uploads ahead may be blocked by their host, and at
/// most two by their group.
///
/// *Held* uploads keep their position and are skipped until they are released. They do not count as ahead, even if they
/// are prepared, so that paused uploads do not keep others from preparing. An upload that returns for another attempt
/// is already prepared. It joins the end of the second line and does not count as ahead either.
package struct AdmissionQueue: Sendable {
    /// The uploads that are called. They are already included in the counts.
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

    /// The state of an upload. It contains no references, because it is copied with every change.
    struct Entry: Sendable {
        let host: Int
        let group: Int?
        var lane: Lane
        var stage: Stage
        let ticket: Int64
        var priority: UploadPriority
        /// Whether no attempt was made yet.
        let isFirst: Bool
        var isHeld: Bool

        var isAhead: Bool { isFirst && !isHeld && (stage == .preparing || stage == .ready) }
    }

    /// A set of uploads with the same limits: the numbers of a host and of a group. Groups without a limit have no
    /// separate lane, so any number of them is free of cost.
    struct Lane: Sendable, Hashable {
        var host: Int
        var group: Int?
    }

    /// The two lines of a lane. Members that left or are held are skipped when they reach the front.
    struct Lines: Sendable {
        var waiting = PriorityLines()
        var ready = PriorityLines()
        var members = 0
    }

    let slots: Int
    let slotsPerHost: Int
    let reach: Int64
    var entries: [UploadID: Entry] = [:]
    var lanes: [Lane: Lines] = [:]
    /// The hosts and the groups of the uploads. Only groups with a limit count their usage.
    var hosts = AdmissionTable()
    var groups = AdmissionTable()
    /// The limits of groups, which may have no uploads.
    var groupSlots: [String: Int] = [:]
    private var nextTicket: Int64 = 0
    var suspensions = 0

    /// The number of transfers that hold a slot.
    package internal(set) var running = 0
    /// The number of uploads that are preparing or ready for their first attempt.
    package internal(set) var ahead = 0
    /// The number of uploads in each line that are not held. If it is zero, the line need not be searched.
    var waitingInLine = 0
    var readyInLine = 0
    /// The number of uploads that are in a line or hold a resource.
    package var count: Int { entries.count }

    /// More than the number of file descriptors of any process. Sums of this value don't overflow.
    package static let maxSlots = 1 << 24

    /// Creates a queue with a number of slots, at least one.
    package init(slots: Int, slotsPerHost: Int, reach: Int = 100) {
        self.slots = min(max(1, slots), Self.maxSlots)
        self.slotsPerHost = min(max(1, slotsPerHost), Self.maxSlots)
        self.reach = Int64(max(0, min(reach, 1 << 40)))
    }
}

// MARK: - Uploads

extension AdmissionQueue {
    /// Adds a new upload to the first line.
    ///
    /// - Complexity: O(lanes), as for all operations. Lanes are hosts, and groups with a limit.
    package mutating func join(
        _ id: UploadID, host: String, group: String? = nil, priority: UploadPriority = .normal, isHeld: Bool = false
    ) -> Calls {
        add(id, host, group, .waiting, priority, isHeld)
    }

    /// Moves a prepared upload to the second line.
    package mutating func ready(_ id: UploadID) -> Calls {
        guard let old = entries[id], old.stage == .preparing else { return Calls() }
        // It keeps its ticket, so that an upload that took long to prepare does not lose its position and is not
        // overtaken more often.
        var entry = old
        entry.stage = .ready
        count(from: old, to: entry)
        return insert(id, entry)
    }

    /// Adds an upload that returns for another attempt to the second line.
    package mutating func requeue(
        _ id: UploadID, host: String, group: String? = nil, priority: UploadPriority = .normal, isHeld: Bool = false
    ) -> Calls {
        add(id, host, group, .ready, priority, isHeld)
    }

    /// Changes the priority of an upload. It keeps its ticket.
    ///
    /// - Complexity: Linear in the number of uploads of that priority in its lane, if any of them arrived later;
    ///   otherwise O(lanes).
    package mutating func prioritize(_ id: UploadID, _ priority: UploadPriority) -> Calls {
        guard let entry = entries[id], entry.priority != priority else { return Calls() }
        update(id) { $0.priority = priority }
        return call()
    }

    /// Holds an upload, so that it is skipped from now on. It keeps its ticket, and a slot that it was given.
    package mutating func hold(_ id: UploadID) -> Calls {
        guard entries[id]?.isHeld == false else { return Calls() }
        update(id) { $0.isHeld = true }
        return call()
    }

    /// Releases a held upload.
    ///
    /// - Complexity: As for ``prioritize(_:_:)``.
    package mutating func release(_ id: UploadID) -> Calls {
        guard entries[id]?.isHeld == true else { return Calls() }
        update(id) { $0.isHeld = false }
        return call()
    }

    /// Returns a held upload to its previous line, because it does not accept the call that it received.
    package mutating func requeueHeld(_ id: UploadID) -> Calls {
        guard let entry = entries[id], entry.stage == .preparing || entry.stage == .running else { return Calls() }
        update(id) { entry in
            entry.stage = entry.stage == .running ? .ready : .waiting
            entry.isHeld = true
        }
        return call()
    }

    /// Removes an upload from the queue, and releases what it holds. May be called repeatedly.
    package mutating func leave(_ id: UploadID) -> Calls {
        guard let entry = entries.removeValue(forKey: id) else { return Calls() }
        unregister(entry)
        hosts.leave(entry.host)
        if let group = entry.group { groups.leave(group) }
        return call()
    }

    private mutating func add(
        _ id: UploadID, _ host: String, _ group: String?, _ stage: Stage, _ priority: UploadPriority, _ isHeld: Bool
    ) -> Calls {
        guard entries[id] == nil else { return Calls() }
        nextTicket += 1
        let (host, group) = (hosts.join(host), group.map { groups.join($0) })
        let entry = Entry(
            host: host, group: group, lane: lane(host, group), stage: stage, ticket: nextTicket, priority: priority,
            isFirst: stage == .waiting, isHeld: isHeld)
        register(entry)
        return insert(id, entry)
    }

    /// Inserts an upload into its line, and calls uploads.
    private mutating func insert(_ id: UploadID, _ entry: Entry) -> Calls {
        guard isCalledImmediately(entry) else {
            entries[id] = entry
            insertIntoLine(id, entry)
            return call()
        }
        var called = entry
        called.stage = entry.stage == .ready ? .running : .preparing
        count(from: entry, to: called)
        entries[id] = called
        guard called.stage == .running else { return Calls(prepare: [id]) }
        // The upload is no longer ahead, so another one may prepare.
        var calls = call()
        calls.start.insert(id, at: 0)
        return calls
    }
}

// MARK: - Counts

extension AdmissionQueue {
    func lane(_ host: Int, _ group: Int?) -> Lane {
        guard !groupSlots.isEmpty, let group, groupSlots[groups[group].name] != nil else { return Lane(host: host) }
        return Lane(host: host, group: group)
    }

    mutating func update(_ id: UploadID, _ change: (inout Entry) -> Void) {
        guard let old = entries[id] else { return }
        var entry = old
        change(&entry)
        count(from: old, to: entry)
        entries[id] = entry
        insertIntoLine(id, entry)
    }

    /// Inserts an entry into its line, unless it is already in it.
    mutating func insertIntoLine(_ id: UploadID, _ entry: Entry) {
        guard !entry.isHeld else { return }
        switch entry.stage {
        case .waiting: lanes[entry.lane]?.waiting.insert(id, entry.ticket, entry.priority)
        case .ready: lanes[entry.lane]?.ready.insert(id, entry.ticket, entry.priority)
        case .preparing, .running: break
        }
    }

    mutating func register(_ entry: Entry) {
        lanes[entry.lane, default: Lines()].members += 1
        count(from: nil, to: entry)
    }

    mutating func unregister(_ entry: Entry) {
        count(from: entry, to: nil)
        guard let index = lanes.index(forKey: entry.lane) else { return }
        lanes.values[index].members -= 1
        if lanes.values[index].members == 0 { lanes.remove(at: index) }
    }

    /// Updates the counts for an entry that is added, removed or changed. Host and lane do not change.
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
        hosts.count(entry.host, ahead: ahead, running: running)
        if let group = entry.lane.group { groups.count(group, ahead: ahead, running: running) }
    }
}
