import WaybillCore

@testable import Waybill

/// The rules of the queue over plain arrays, searched from the front each time.
struct NaiveQueue {
    let slots: Int
    let slotsPerHost: Int
    let reach: Int
    var groupSlots: [String: Int] = [:]
    var waiting: [Member] = []
    var preparing: [Member] = []
    var ready: [Member] = []
    var running: [Member] = []
    private var tickets = 0

    struct Member {
        var id: UploadID
        var host: String
        var group: String?
        var priority: UploadPriority
        var ticket = 0
        var isFirst = true
        var isHeld = false
    }

    init(slots: Int, slotsPerHost: Int, reach: Int) {
        self.slots = slots
        self.slotsPerHost = slotsPerHost
        self.reach = reach
    }

    mutating func join(_ member: Member) {
        tickets += 1
        var member = member
        member.ticket = tickets
        waiting.append(member)
    }

    mutating func requeue(_ member: Member, isHeld: Bool) {
        tickets += 1
        var member = member
        member.ticket = tickets
        member.isFirst = false
        member.isHeld = isHeld
        ready.append(member)
    }

    mutating func change(_ id: UploadID, _ body: (inout Member) -> Void) {
        for line in [\Self.waiting, \.preparing, \.ready, \.running] {
            for index in self[keyPath: line].indices where self[keyPath: line][index].id == id {
                body(&self[keyPath: line][index])
            }
        }
    }

    mutating func requeueHeld(_ id: UploadID) {
        for (from, to) in [(\Self.preparing, \Self.waiting), (\Self.running, \Self.ready)] {
            guard let index = self[keyPath: from].firstIndex(where: { $0.id == id }) else { continue }
            var member = self[keyPath: from].remove(at: index)
            member.isHeld = true
            self[keyPath: to].append(member)
        }
    }

    /// Sorts the line again on each call.
    private func order(_ line: [Member]) -> [Member] {
        line.sorted { a, b in
            (a.ticket - reach * a.priority.rawValue, a.ticket) < (b.ticket - reach * b.priority.rawValue, b.ticket)
        }
    }

    var ahead: [Member] { (preparing + ready).filter { $0.isFirst && !$0.isHeld } }

    mutating func leave(_ id: UploadID) {
        waiting.removeAll { $0.id == id }
        preparing.removeAll { $0.id == id }
        ready.removeAll { $0.id == id }
        running.removeAll { $0.id == id }
    }

    mutating func becomeReady(_ id: UploadID) {
        guard let index = preparing.firstIndex(where: { $0.id == id }) else { return }
        ready.append(preparing.remove(at: index))
    }

    private func room(host: String) -> Int { max(0, slotsPerHost - running.count { $0.host == host }) }
    private func room(group: String?) -> Int {
        guard let group, let slots = groupSlots[group] else { return .max }
        return max(0, slots - running.count { $0.group == group })
    }

    mutating func calls() -> AdmissionQueue.Calls {
        var calls = AdmissionQueue.Calls()
        waiting = order(waiting)
        ready = order(ready)
        while running.count < slots,
            let index = ready.firstIndex(where: { !$0.isHeld && room(host: $0.host) > 0 && room(group: $0.group) > 0 })
        {
            let member = ready.remove(at: index)
            running.append(member)
            calls.start.append(member.id)
        }
        while ahead.count < slots + 2, let index = waiting.firstIndex(where: mayPrepare) {
            let member = waiting.remove(at: index)
            preparing.append(member)
            calls.prepare.append(member.id)
        }
        return calls
    }

    private func mayPrepare(_ member: Member) -> Bool {
        guard !member.isHeld else { return false }
        let hosts = Dictionary(ahead.map { ($0.host, 1) }, uniquingKeysWith: +)
        let groups = Dictionary(ahead.compactMap { $0.group }.map { ($0, 1) }, uniquingKeysWith: +)
        let blockedByHost = hosts.reduce(0) { $0 + max(0, $1.value - room(host: $1.key)) }
        let blockedByGroup = groups.reduce(0) { $0 + max(0, $1.value - room(group: $1.key)) }
        let spare = slotsPerHost >= slots ? 2 : min(2, slots - slotsPerHost - 1)
        let group = member.group.map { groups[$0, default: 0] } ?? 0
        return (blockedByHost < slotsPerHost + 2 || hosts[member.host, default: 0] < room(host: member.host))
            && (blockedByGroup < spare || group < room(group: member.group))
    }
}
