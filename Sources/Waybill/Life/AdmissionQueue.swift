package import WaybillCore

/// Who may prepare and who may send: at most `slots` transfers at once and `slotsPerHost` of them to one host, first
/// come, first served among uploads of one priority.
///
/// A step of priority is worth `reach` places: uploads are served by their number in line less `reach` for each step. So
/// nobody is overtaken by more than `reach` later uploads for each step that those are above it.
///
/// Uploads pass through two lines. In the first they *wait* and have nothing open; from it they are called to prepare.
/// In the second they are *ready* and hold files and images; from it they are given slots. At most `slots + 2` uploads
/// are between the two calls, so that the next body is there when a slot falls free, and a batch of a hundred thousand
/// opens no more than a batch of ten.
///
/// A busy host blocks nobody else: a slot goes to the first whose host has room. Nor can it fill the window: at most
/// `slotsPerHost + 2` of the uploads ahead may be such as their host has no room for.
///
/// An upload that comes back for a retry is ready already; it joins the end of the second line and does not count as
/// ahead.
package struct AdmissionQueue: Sendable {
    /// Who is called. The queue has already counted them.
    package struct Calls: Sendable, Equatable {
        package var prepare: [UploadID] = []
        package var start: [UploadID] = []
        package init(prepare: [UploadID] = [], start: [UploadID] = []) {
            self.prepare = prepare
            self.start = start
        }
    }

    private enum Stage: Sendable { case waiting, preparing, ready, readyAgain, running }

    private struct Entry: Sendable {
        var host: String
        var stage: Stage
        var ticket: Int64
        var priority: UploadPriority
    }

    private struct Host: Sendable {
        var waiting = PriorityLines()
        var ready = PriorityLines()
        var ahead = 0
        var running = 0
        var members = 0

        func room(under limit: Int) -> Int { max(0, limit - running) }
    }

    private let slots: Int
    private let slotsPerHost: Int
    private let reach: Int64
    private var entries: [UploadID: Entry] = [:]
    private var hosts: [String: Host] = [:]
    private var nextTicket: Int64 = 0

    /// Transfers that hold a slot.
    package private(set) var running = 0
    /// Uploads that prepare or are ready for their first attempt.
    package private(set) var ahead = 0
    /// All uploads that are in a line or hold something.
    package var count: Int { entries.count }

    /// A queue with so many slots; less than one counts as one.
    package init(slots: Int, slotsPerHost: Int, reach: Int = 100) {
        self.slots = max(1, slots)
        self.slotsPerHost = max(1, slotsPerHost)
        self.reach = Int64(max(0, min(reach, 1 << 40)))
    }

    /// A new upload joins the first line.
    ///
    /// - Complexity: O(hosts), as all verbs.
    package mutating func join(_ id: UploadID, host: String, priority: UploadPriority = .normal) -> Calls {
        add(id, host: host, stage: .waiting, priority)
    }

    /// A called upload is prepared and joins the second line.
    package mutating func ready(_ id: UploadID) -> Calls {
        guard var entry = entries[id], entry.stage == .preparing else { return Calls() }
        // With its old number: who took long to prepare does not lose its place, and is not overtaken as often again.
        entry.stage = .ready
        entries[id] = entry
        hosts[entry.host]?.ready.insert(id, entry.ticket, entry.priority)
        return call()
    }

    /// An upload that had left comes back for another attempt.
    package mutating func requeue(_ id: UploadID, host: String, priority: UploadPriority = .normal) -> Calls {
        add(id, host: host, stage: .readyAgain, priority)
    }

    /// An upload becomes more or less urgent. It keeps its number in line.
    ///
    /// - Complexity: linear in the uploads of that priority to its host, if any of them came later; else O(hosts).
    package mutating func prioritize(_ id: UploadID, _ priority: UploadPriority) -> Calls {
        guard var entry = entries[id], entry.priority != priority else { return Calls() }
        entry.priority = priority
        entries[id] = entry
        switch entry.stage {
        case .waiting: hosts[entry.host]?.waiting.insert(id, entry.ticket, priority)
        case .ready, .readyAgain: hosts[entry.host]?.ready.insert(id, entry.ticket, priority)
        case .preparing, .running: break
        }
        return call()
    }

    /// An upload leaves, from wherever it is, and gives back what it holds. Leaving twice is harmless.
    package mutating func leave(_ id: UploadID) -> Calls {
        guard let entry = entries.removeValue(forKey: id), var host = hosts[entry.host] else { return Calls() }
        switch entry.stage {
        case .waiting, .readyAgain: break
        case .preparing, .ready:
            ahead -= 1
            host.ahead -= 1
        case .running:
            running -= 1
            host.running -= 1
        }
        host.members -= 1
        hosts[entry.host] = host.members == 0 ? nil : host
        return call()
    }

    private mutating func add(
        _ id: UploadID, host name: String, stage: Stage, _ priority: UploadPriority
    ) -> Calls {
        guard entries[id] == nil else { return Calls() }
        let ticket = takeTicket()
        entries[id] = Entry(host: name, stage: stage, ticket: ticket, priority: priority)
        hosts[name, default: Host()].members += 1
        if stage == .waiting {
            hosts[name]?.waiting.insert(id, ticket, priority)
        } else {
            hosts[name]?.ready.insert(id, ticket, priority)
        }
        return call()
    }

    private mutating func takeTicket() -> Int64 {
        nextTicket += 1
        return nextTicket
    }
}

// MARK: - Calling

extension AdmissionQueue {
    private mutating func call() -> Calls {
        var calls = Calls()
        while running < slots, let id = nextToStart() {
            if entries[id]?.stage == .ready {
                ahead -= 1
                change(id) { $0.ahead -= 1 }
            }
            entries[id]?.stage = .running
            running += 1
            change(id) { $0.running += 1 }
            calls.start.append(id)
        }
        while ahead < slots + 2, let id = nextToPrepare() {
            entries[id]?.stage = .preparing
            ahead += 1
            change(id) { $0.ahead += 1 }
            calls.prepare.append(id)
        }
        return calls
    }

    private mutating func nextToStart() -> UploadID? {
        let limit = slotsPerHost
        return takeFirst(\.ready, where: { $0.running < limit }, stages: [.ready, .readyAgain])
    }

    private mutating func nextToPrepare() -> UploadID? {
        let limit = slotsPerHost
        let blocked = hosts.values.reduce(0) { $0 + max(0, $1.ahead - $1.room(under: limit)) }
        let mayBlock = blocked < limit + 2
        return takeFirst(\.waiting, where: { mayBlock || $0.ahead < $0.room(under: limit) }, stages: [.waiting])
    }

    /// The first of the heads of the hosts' lines, among the hosts that may be served.
    private mutating func takeFirst(
        _ lines: WritableKeyPath<Host, PriorityLines>, where mayServe: (Host) -> Bool, stages: Set<Stage>
    ) -> UploadID? {
        let entries = entries
        let names = hosts.compactMap { mayServe($0.value) ? $0.key : nil }
        var best: (name: String, head: PriorityLines.Head)?
        for name in names {
            // Who left the middle of a line, or changed lines, is skipped when it gets to the front.
            let head = hosts[name]?[keyPath: lines].head(reach: reach) { id, ticket, priority in
                guard let entry = entries[id] else { return false }
                return entry.ticket == ticket && entry.priority == priority && stages.contains(entry.stage)
            }
            if let head, best.map({ head < $0.head }) ?? true { best = (name, head) }
        }
        return best.flatMap { hosts[$0.name]?[keyPath: lines].remove($0.head) }
    }

    private mutating func change(_ id: UploadID, _ body: (inout Host) -> Void) {
        guard let name = entries[id]?.host, var host = hosts[name] else { return }
        body(&host)
        hosts[name] = host
    }
}
