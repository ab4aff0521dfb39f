import TestSupport
import Testing
import WaybillCore

@testable import Waybill

/// The same rules over plain arrays, searched from the front each time.
private struct NaiveQueue {
    let slots: Int
    let slotsPerHost: Int
    let reach: Int
    var waiting: [Member] = []
    var preparing: [Member] = []
    var ready: [Member] = []
    var running: [Member] = []
    private var tickets = 0

    struct Member {
        var id: UploadID
        var host: String
        var priority: UploadPriority
        var ticket = 0
        var isFirst = true
    }

    init(slots: Int, slotsPerHost: Int, reach: Int) {
        self.slots = slots
        self.slotsPerHost = slotsPerHost
        self.reach = reach
    }

    mutating func join(_ id: UploadID, _ host: String, _ priority: UploadPriority) {
        tickets += 1
        waiting.append(Member(id: id, host: host, priority: priority, ticket: tickets))
    }

    mutating func requeue(_ member: Member) {
        tickets += 1
        var member = member
        member.ticket = tickets
        member.isFirst = false
        ready.append(member)
    }

    mutating func prioritize(_ id: UploadID, _ priority: UploadPriority) {
        for line in [\Self.waiting, \.preparing, \.ready, \.running] {
            for index in self[keyPath: line].indices where self[keyPath: line][index].id == id {
                self[keyPath: line][index].priority = priority
            }
        }
    }

    /// Sorted anew each time.
    private func order(_ line: [Member]) -> [Member] {
        line.sorted { a, b in
            (a.ticket - reach * a.priority.rawValue, a.ticket) < (b.ticket - reach * b.priority.rawValue, b.ticket)
        }
    }

    var ahead: [String] { preparing.map(\.host) + ready.filter(\.isFirst).map(\.host) }

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

    private func room(_ host: String) -> Int { max(0, slotsPerHost - running.count { $0.host == host }) }

    mutating func calls() -> AdmissionQueue.Calls {
        var calls = AdmissionQueue.Calls()
        waiting = order(waiting)
        ready = order(ready)
        while running.count < slots, let index = ready.firstIndex(where: { room($0.host) > 0 }) {
            let member = ready.remove(at: index)
            running.append(member)
            calls.start.append(member.id)
        }
        while ahead.count < slots + 2 {
            let counts = Dictionary(ahead.map { ($0, 1) }, uniquingKeysWith: +)
            let blocked = counts.reduce(0) { $0 + max(0, $1.value - room($1.key)) }
            let found = waiting.firstIndex { blocked < slotsPerHost + 2 || counts[$0.host, default: 0] < room($0.host) }
            guard let index = found else { break }
            let member = waiting.remove(at: index)
            preparing.append(member)
            calls.prepare.append(member.id)
        }
        return calls
    }
}

@Suite struct AdmissionQueueTests {
    @Test(arguments: [(8, 5, 3), (1, 1, 1), (3, 1, 6), (4, 9, 2), (2, 2, 40)], [0, 1, 7, 100])
    func `it calls whom the rules call, over random days`(shape: (slots: Int, perHost: Int, hosts: Int), reach: Int) {
        var random = SeededGenerator()
        let difference = difference(
            shape.slots, shape.perHost, shape.hosts, reach, oracle: (shape.slots, shape.perHost, reach), &random)
        #expect(difference == nil)
    }

    @Test func `the comparison notices one slot too many, or one place`() {
        var random = SeededGenerator()
        for oracle in [(8, 4, 7), (7, 5, 7), (8, 5, 6)] {
            let difference = difference(8, 5, 3, 7, oracle: oracle, &random)
            #expect(difference != nil)
        }
    }

    /// Plays 4,000 random moves on the queue and on the oracle.
    ///
    /// - Returns: Where they differ, or a bound that is broken.
    private func difference(
        _ slots: Int, _ perHost: Int, _ hosts: Int, _ reach: Int, oracle: (slots: Int, perHost: Int, reach: Int),
        _ random: inout SeededGenerator
    ) -> String? {
        var queue = AdmissionQueue(slots: slots, slotsPerHost: perHost, reach: reach)
        var naive = NaiveQueue(slots: oracle.slots, slotsPerHost: oracle.perHost, reach: oracle.reach)
        var gone: [NaiveQueue.Member] = []
        for move in 0..<4_000 {
            let calls: AdmissionQueue.Calls
            let priority = UploadPriority.allCases.randomElement(using: &random)!
            switch Int.random(in: 0..<11, using: &random) {
            case 0, 1, 2:
                let id = UploadID(rawValue: UInt64(move))
                let host = "host\(Int.random(in: 0..<hosts, using: &random))"
                naive.join(id, host, priority)
                calls = queue.join(id, host: host, priority: priority)
            case 3, 4, 5:
                guard let member = naive.preparing.randomElement(using: &random) else { continue }
                naive.becomeReady(member.id)
                calls = queue.ready(member.id)
            case 6, 7:
                guard let member = naive.running.randomElement(using: &random) else { continue }
                naive.leave(member.id)
                gone.append(member)
                calls = queue.leave(member.id)
            case 8:
                guard let index = gone.indices.randomElement(using: &random) else { continue }
                let member = gone.remove(at: index)
                naive.requeue(member)
                calls = queue.requeue(member.id, host: member.host, priority: member.priority)
            case 9:
                let id = UploadID(rawValue: UInt64.random(in: 0...UInt64(move), using: &random))
                naive.prioritize(id, priority)
                calls = queue.prioritize(id, priority)
            default:
                let id = UploadID(rawValue: UInt64.random(in: 0...UInt64(move), using: &random))
                naive.leave(id)
                calls = queue.leave(id)
            }
            guard calls == naive.calls() else { return "move \(move): \(calls), seed \(random.seed)" }
            if let broken = brokenBound(queue, naive, slots, perHost) { return "move \(move): \(broken)" }
        }
        return nil
    }

    private func brokenBound(_ queue: AdmissionQueue, _ naive: NaiveQueue, _ slots: Int, _ perHost: Int) -> String? {
        if queue.running != naive.running.count || queue.running > slots { return "\(queue.running) running" }
        if queue.ahead != naive.ahead.count || queue.ahead > slots + 2 { return "\(queue.ahead) ahead" }
        let busiest = Dictionary(naive.running.map { ($0.host, 1) }, uniquingKeysWith: +).values.max() ?? 0
        return busiest > perHost ? "\(busiest) to one host" : nil
    }

    @Test(arguments: [(8, 5), (8, 1), (3, 2)])
    func `a busy host keeps nobody else from a free slot`(slots: Int, perHost: Int) {
        var queue = AdmissionQueue(slots: slots, slotsPerHost: perHost)
        var toPrepare: [UploadID] = []
        var running: [UploadID] = []
        func take(_ calls: AdmissionQueue.Calls) {
            toPrepare += calls.prepare
            running += calls.start
        }
        // A hundred for one host, and after them one each for others.
        for number in 0..<100 { take(queue.join(UploadID(rawValue: UInt64(number)), host: "busy")) }
        for number in 100..<(100 + slots) {
            take(queue.join(UploadID(rawValue: UInt64(number)), host: "other\(number)"))
        }
        while !toPrepare.isEmpty { take(queue.ready(toPrepare.removeFirst())) }
        #expect(queue.running == slots)
        #expect(running.count { $0.rawValue < 100 } == min(perHost, slots))
    }

    @Test func `everybody gets a turn, in order of arrival, and nothing stays behind`() {
        var queue = AdmissionQueue(slots: 3, slotsPerHost: 3)
        var started: [UInt64] = []
        var calls: [AdmissionQueue.Calls] = (0..<500).map { queue.join(UploadID(rawValue: $0), host: "host") }
        while !calls.isEmpty {
            let next = calls.removeFirst()
            for id in next.prepare { calls.append(queue.ready(id)) }
            for id in next.start {
                started.append(id.rawValue)
                calls.append(queue.leave(id))
            }
        }
        #expect(started == Array(0..<500))
        #expect(queue.count == 0)
        #expect(queue.running == 0)
        #expect(queue.ahead == 0)
    }

    /// A flood of urgent uploads, one after the other, with a single slot.
    @Test(arguments: [(UploadPriority.veryLow, UploadPriority.veryHigh), (.normal, .high), (.low, .veryHigh)])
    func `who is not urgent is overtaken so often and no oftener`(patient: UploadPriority, urgent: UploadPriority) {
        let reach = 20
        var queue = AdmissionQueue(slots: 1, slotsPerHost: 1, reach: reach)
        var overtaken = 0
        var hasStarted = false
        func serve(_ calls: AdmissionQueue.Calls) {
            var all = [calls]
            while let next = all.popLast() {
                for id in next.prepare { all.append(queue.ready(id)) }
                for id in next.start where id.rawValue != 0 {
                    if id.rawValue == 1 { hasStarted = true } else if !hasStarted { overtaken += 1 }
                    all.append(queue.leave(id))
                }
            }
        }
        // One keeps the slot while the others gather.
        serve(queue.join(UploadID(rawValue: 0), host: "host"))
        for number in UInt64(10)..<20 { serve(queue.join(UploadID(rawValue: number), host: "host", priority: urgent)) }
        serve(queue.join(UploadID(rawValue: 1), host: "host", priority: patient))
        for number in UInt64(100)..<1_000 {
            serve(queue.join(UploadID(rawValue: number), host: "host", priority: urgent))
        }
        serve(queue.leave(UploadID(rawValue: 0)))
        #expect(hasStarted)
        // The ten before it, those later ones that are within reach, and the few that were ahead of the lines.
        let bound = 10 + reach * (urgent.rawValue - patient.rawValue) + 3
        #expect(overtaken <= bound)
        #expect(overtaken > bound - 10)
        #expect(queue.count == 0)
    }

    @Test func `an upload that becomes urgent goes ahead with its own number`() {
        var queue = AdmissionQueue(slots: 1, slotsPerHost: 1, reach: 100)
        var started: [UInt64] = []
        var waiting: [AdmissionQueue.Calls] = (0..<50).map { queue.join(UploadID(rawValue: $0), host: "host") }
        waiting.append(queue.prioritize(UploadID(rawValue: 40), .high))
        waiting.append(queue.prioritize(UploadID(rawValue: 30), .high))
        waiting.append(queue.prioritize(UploadID(rawValue: 10), .veryLow))
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            for id in next.prepare { waiting.append(queue.ready(id)) }
            for id in next.start {
                started.append(id.rawValue)
                waiting.append(queue.leave(id))
            }
        }
        #expect(started.last == 10)
        #expect(started.firstIndex(of: 30)! < started.firstIndex(of: 40)!)
        // Three may have been called to prepare before.
        #expect(started.firstIndex(of: 40)! <= 4)
        #expect(Set(started).count == 50)
    }

    @Test func `leaving twice, and calls for strangers, change nothing`() {
        var queue = AdmissionQueue(slots: 1, slotsPerHost: 1)
        let id = UploadID(rawValue: 1)
        let nobody = AdmissionQueue.Calls()
        let calls = [
            queue.join(id, host: "host"), queue.join(id, host: "host"), queue.ready(id), queue.ready(id),
            queue.ready(UploadID(rawValue: 2)), queue.leave(id), queue.leave(id),
        ]
        #expect(calls == [.init(prepare: [id]), nobody, .init(start: [id]), nobody, nobody, nobody, nobody])
        #expect(queue.running == 0)
    }
}
