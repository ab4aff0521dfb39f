// Limits of groups, and many changes at once.

extension AdmissionQueue {
    /// How many transfers of a group may run at once, less than one counts as one; `nil` for as many as there are slots.
    /// What runs is not stopped.
    ///
    /// - Complexity: O(n log n) in all uploads when a limit is new or goes away.
    package mutating func limit(group: String, to slots: Int?) -> Calls {
        let slots = slots.map { min(max(1, $0), Self.mostSlots) }
        let isMoving = (groupSlots[group] == nil) != (slots == nil)
        groupSlots[group] = slots
        guard isMoving else { return call() }
        if slots != nil { groups[group] = Usage() }
        let members = entries.filter { $0.value.group == group }.sorted { $0.value.ticket < $1.value.ticket }
        for (id, entry) in members {
            unregister(entry)
            var moved = entry
            moved.lane = lane(entry.host, group)
            entries[id] = moved
            register(moved)
            line(id, moved)
        }
        if slots == nil { groups[group] = nil }
        return call()
    }

    /// Nobody is called until ``goOn()``, so that much can change at once at the cost of the changes, and nobody is called
    /// in between who leaves a moment later. May be nested.
    package mutating func halt() { halts += 1 }

    /// Calls again.
    package mutating func goOn() -> Calls {
        halts = max(0, halts - 1)
        return call()
    }

    mutating func call() -> Calls { halts == 0 ? nextCalls() : Calls() }
}
