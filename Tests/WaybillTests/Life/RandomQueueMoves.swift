import TestSupport
import WaybillCore

@testable import Waybill

/// Random moves on the queue and on the oracle: arrivals, ends, retries, pauses, changed priorities, limits of
/// groups.
struct RandomQueueMoves {
    var queue: AdmissionQueue
    var naive: NaiveQueue
    let hosts: Int
    private var gone: [NaiveQueue.Member] = []
    private static let groups = [nil, nil, "a", "b"]

    init(queue: AdmissionQueue, naive: NaiveQueue, hosts: Int) {
        self.queue = queue
        self.naive = naive
        self.hosts = hosts
    }

    /// - Returns: The calls of the queue; `nil` when the move did nothing.
    mutating func move(_ number: Int, _ random: inout SeededGenerator) -> AdmissionQueue.Calls? {
        let priority = UploadPriority.allCases.randomElement(using: &random)!
        let anyID = UploadID(rawValue: UInt64.random(in: 0...UInt64(number), using: &random))
        switch Int.random(in: 0..<18, using: &random) {
        case 0, 1, 2: return join(UploadID(rawValue: UInt64(number)), priority, &random)
        case 3, 4, 5:
            guard let member = naive.preparing.randomElement(using: &random) else { return nil }
            naive.becomeReady(member.id)
            return queue.ready(member.id)
        case 6, 7, 8:
            guard let member = naive.running.randomElement(using: &random) else { return nil }
            naive.leave(member.id)
            gone.append(member)
            return queue.leave(member.id)
        case 9: return requeue(&random)
        case 10:
            naive.change(anyID) { $0.priority = priority }
            return queue.prioritize(anyID, priority)
        case 11, 12:
            // Uploads that wait long are often held, so that lines contain many held ones.
            naive.change(anyID) { $0.isHeld = true }
            return queue.hold(anyID)
        case 13, 14:
            let all = naive.waiting + naive.preparing + naive.ready + naive.running
            guard let member = all.filter(\.isHeld).randomElement(using: &random) else { return nil }
            naive.change(member.id) { $0.isHeld = false }
            return queue.release(member.id)
        case 15:
            guard let member = (naive.preparing + naive.running).filter(\.isHeld).randomElement(using: &random) else {
                return nil
            }
            naive.requeueHeld(member.id)
            return queue.requeueHeld(member.id)
        case 16:
            let group = ["a", "b"].randomElement(using: &random)!
            let slots = [nil, 1, 2, 5].randomElement(using: &random)!
            naive.groupSlots[group] = slots
            return queue.limit(group: group, to: slots)
        default:
            naive.leave(anyID)
            return queue.leave(anyID)
        }
    }

    private mutating func join(
        _ id: UploadID, _ priority: UploadPriority, _ random: inout SeededGenerator
    ) -> AdmissionQueue.Calls {
        let host = "host\(Int.random(in: 0..<hosts, using: &random))"
        let group = Self.groups.randomElement(using: &random)!
        let isHeld = Int.random(in: 0..<8, using: &random) == 0
        naive.join(.init(id: id, host: host, group: group, priority: priority, isHeld: isHeld))
        return queue.join(id, host: host, group: group, priority: priority, isHeld: isHeld)
    }

    private mutating func requeue(_ random: inout SeededGenerator) -> AdmissionQueue.Calls? {
        guard let index = gone.indices.randomElement(using: &random) else { return nil }
        let member = gone.remove(at: index)
        let isHeld = Int.random(in: 0..<4, using: &random) == 0
        naive.requeue(member, isHeld: isHeld)
        return queue.requeue(
            member.id, host: member.host, group: member.group, priority: member.priority, isHeld: isHeld)
    }
}
