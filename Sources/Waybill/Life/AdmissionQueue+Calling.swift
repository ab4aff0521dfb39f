import WaybillCore

// The rules that determine which uploads are called next from the two lines.

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

    /// Returns whether an upload that was just counted in a line is called immediately, because the line is otherwise
    /// empty and there is capacity. This is the common case, in which no line has to be created and searched.
    func isCalledImmediately(_ entry: Entry) -> Bool {
        guard suspensions == 0, !entry.isHeld else { return false }
        return switch entry.stage {
        case .waiting: waitingInLine == 1 && ahead < slots + 2 && mayPrepareImmediately(entry.lane)
        case .ready: readyInLine == 1 && running < slots && mayStartImmediately(entry.lane)
        case .preparing, .running: false
        }
    }

    /// Other hosts and groups are not examined. The turn of a group is determined in its line.
    private func mayPrepareImmediately(_ lane: Lane) -> Bool {
        lane.group == nil && hosts[lane.host].ahead < hosts[lane.host].freeCapacity(under: slotsPerHost)
    }

    private func mayStartImmediately(_ lane: Lane) -> Bool {
        lane.group == nil && hosts[lane.host].running < slotsPerHost
    }

    private mutating func nextToStart() -> UploadID? {
        let (hosts, groups, groupSlots, limit) = (hosts, groups, groupSlots, slotsPerHost)
        return takeFirst(\.ready, of: .ready) { lane in
            guard hosts[lane.host].running < limit else { return false }
            guard let usage = lane.group.map({ groups[$0] }), let slots = groupSlots[usage.name] else { return true }
            return usage.running < slots
        }
    }

    private mutating func nextToPrepare() -> UploadID? {
        let (hosts, groups, groupSlots, limit) = (hosts, groups, groupSlots, slotsPerHost)
        let mayBlockHost = hosts.all.reduce(0) { $0 + hosts[$1].blocked(under: limit) } < limit + 2
        let mayBlockGroup =
            groups.all.reduce(0) { $0 + groups[$1].blocked(under: groupSlots[groups[$1].name] ?? .max) }
            < maxBlockedByGroup
        return takeFirst(\.waiting, of: .waiting) { lane in
            let host = hosts[lane.host]
            guard mayBlockHost || host.ahead < host.freeCapacity(under: limit) else { return false }
            guard let usage = lane.group.map({ groups[$0] }), let slots = groupSlots[usage.name] else { return true }
            return mayBlockGroup || usage.ahead < usage.freeCapacity(under: slots)
        }
    }

    /// The maximum number of uploads ahead that are blocked by their group. Together with those blocked by their host,
    /// they must leave a place in the window, so that a free slot can be used.
    private var maxBlockedByGroup: Int { slotsPerHost >= slots ? 2 : min(2, slots - slotsPerHost - 1) }

    /// Removes the first of the heads of all lanes that may be served.
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
