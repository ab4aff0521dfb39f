// Limits of groups, and batches of changes.

extension AdmissionQueue {
    /// Sets the maximum number of concurrent transfers of a group, at least one; `nil` for no limit besides the slots.
    /// Running transfers are not stopped.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads, if a limit is added or removed.
    package mutating func limit(group: String, to slots: Int?) -> Calls {
        let slots = slots.map { min(max(1, $0), Self.maxSlots) }
        let isMoving = (groupSlots[group] == nil) != (slots == nil)
        groupSlots[group] = slots
        guard isMoving, let number = groups.number(of: group) else { return call() }
        if slots != nil { groups.resetCounts(of: number) }
        let members = entries.filter { $0.value.group == number }.sorted { $0.value.ticket < $1.value.ticket }
        for (id, entry) in members {
            unregister(entry)
            var moved = entry
            moved.lane = lane(entry.host, number)
            entries[id] = moved
            register(moved)
            insertIntoLine(id, moved)
        }
        if slots == nil { groups.resetCounts(of: number) }
        return call()
    }

    /// Suspends calls until ``resumeCalls()``. The cost of many changes is then proportional to their number, and no
    /// upload is called that leaves immediately afterwards. Calls can be nested.
    package mutating func suspendCalls() { suspensions += 1 }

    /// Ends the effect of one ``halt()``, and returns the uploads that are called.
    package mutating func resumeCalls() -> Calls {
        suspensions = max(0, suspensions - 1)
        return call()
    }

    mutating func call() -> Calls { suspensions == 0 ? nextCalls() : Calls() }
}
