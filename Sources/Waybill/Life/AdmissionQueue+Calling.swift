import WaybillCore

// Whom the queue calls next: the rules of the two lines.

extension AdmissionQueue {
    mutating func nextCalls() -> Calls {
        var calls = Calls()
        while readyInLine > 0, running < slots, let id = nextToStart() {
            update(id) { $0.stage = .running }
            calls.start.append(id)
        }
        while waitingInLine > 0, ahead < slots + 2, let id = nextToPrepare() {
            update(id) { $0.stage = .preparing }
            calls.prepare.append(id)
        }
        return calls
    }

    /// Whether an upload that has just been counted as standing in a line is called at once, because nobody else stands
    /// there and there is room. It is mostly so, and then no line has to be made and looked through.
    func isCalledAtOnce(_ entry: Entry) -> Bool {
        guard halts == 0, !entry.isHeld else { return false }
        return switch entry.stage {
        case .waiting: waitingInLine == 1 && ahead < slots + 2 && mayPrepareAtOnce(entry.lane)
        case .ready: readyInLine == 1 && running < slots && mayStartAtOnce(entry.lane)
        case .preparing, .running: false
        }
    }

    /// Without a look at what the other hosts and groups have: a group's turn is found in its line.
    private func mayPrepareAtOnce(_ lane: Lane) -> Bool {
        lane.group == nil && hosts[lane.host].map { $0.ahead < $0.room(under: slotsPerHost) } ?? true
    }

    private func mayStartAtOnce(_ lane: Lane) -> Bool {
        lane.group == nil && hosts[lane.host].map { $0.running < slotsPerHost } ?? true
    }

    private mutating func nextToStart() -> UploadID? {
        let (hosts, groups, groupSlots, limit) = (hosts, groups, groupSlots, slotsPerHost)
        return takeFirst(\.ready, of: .ready) { lane in
            guard hosts[lane.host].map({ $0.running < limit }) ?? true else { return false }
            guard let group = lane.group, let usage = groups[group], let slots = groupSlots[group] else { return true }
            return usage.running < slots
        }
    }

    private mutating func nextToPrepare() -> UploadID? {
        let (hosts, groups, groupSlots, limit) = (hosts, groups, groupSlots, slotsPerHost)
        let mayBlockHost = hosts.values.reduce(0) { $0 + $1.blocked(under: limit) } < limit + 2
        let mayBlockGroup =
            groups.reduce(0) { $0 + $1.value.blocked(under: groupSlots[$1.key] ?? .max) } < spareForGroups
        return takeFirst(\.waiting, of: .waiting) { lane in
            guard mayBlockHost || hosts[lane.host].map({ $0.ahead < $0.room(under: limit) }) ?? true else {
                return false
            }
            guard let group = lane.group, let usage = groups[group], let slots = groupSlots[group] else { return true }
            return mayBlockGroup || usage.ahead < usage.room(under: slots)
        }
    }

    /// How many may be ahead that their group has no room for. Together with those that their host has none for they must
    /// leave a place in the window, so that a free slot finds somebody.
    private var spareForGroups: Int { slotsPerHost >= slots ? 2 : min(2, slots - slotsPerHost - 1) }

    /// The first of the heads of the lanes' lines, among the lanes that may be served.
    private mutating func takeFirst(
        _ lines: WritableKeyPath<Lines, PriorityLines>, of stage: Stage, where mayServe: (Lane) -> Bool
    ) -> UploadID? {
        let entries = entries
        var best: (lane: Lane, head: PriorityLines.Head)?
        for lane in lanes.keys.filter(mayServe) {
            let head = lanes[lane]?[keyPath: lines].head(reach: reach) { id, ticket, priority in
                guard let entry = entries[id] else { return false }
                return entry.ticket == ticket && entry.priority == priority && entry.stage == stage && !entry.isHeld
                    && entry.lane == lane
            }
            if let head, best.map({ head < $0.head }) ?? true { best = (lane, head) }
        }
        return best.flatMap { lanes[$0.lane]?[keyPath: lines].remove($0.head) }
    }
}
