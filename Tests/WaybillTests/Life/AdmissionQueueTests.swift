import TestSupport
import Testing
import WaybillCore

@testable import Waybill

@Suite struct AdmissionQueueTests {
    @Test(arguments: [(8, 5, 3), (1, 1, 1), (3, 1, 6), (4, 9, 2), (2, 2, 40)], [0, 1, 7, 100])
    func `random moves match a naive queue`(shape: (slots: Int, perHost: Int, hosts: Int), reach: Int) {
        var random = SeededGenerator()
        let difference = difference(
            shape.slots, shape.perHost, shape.hosts, reach, oracle: (shape.slots, shape.perHost, reach), &random)
        #expect(difference == nil)
    }

    @Test func `slot counts up to Int.max do not overflow`() {
        var queue = AdmissionQueue(slots: .max, slotsPerHost: .max, reach: .max)
        _ = queue.limit(group: "g", to: .max)
        let calls = (0..<3).map { queue.join(UploadID(rawValue: $0), host: "host", group: "g") }
        #expect(calls.map(\.prepare.count) == [1, 1, 1])
    }

    @Test func `the comparison detects a wrong slot count and a wrong order`() {
        var random = SeededGenerator()
        for oracle in [(8, 4, 7), (7, 5, 7), (8, 5, 6)] {
            let difference = difference(8, 5, 3, 7, oracle: oracle, &random)
            #expect(difference != nil)
        }
    }

    /// Plays 4,000 random moves on the queue and on the oracle.
    ///
    /// - Returns: The first difference, or a violated bound.
    private func difference(
        _ slots: Int, _ perHost: Int, _ hosts: Int, _ reach: Int, oracle: (slots: Int, perHost: Int, reach: Int),
        _ random: inout SeededGenerator
    ) -> String? {
        var day = RandomQueueMoves(
            queue: AdmissionQueue(slots: slots, slotsPerHost: perHost, reach: reach),
            naive: NaiveQueue(slots: oracle.slots, slotsPerHost: oracle.perHost, reach: oracle.reach), hosts: hosts)
        for move in 0..<4_000 {
            guard let calls = day.move(move, &random) else { continue }
            let ahead = day.queue.ahead - calls.prepare.count
            guard calls == day.naive.calls() else { return "move \(move): \(calls), seed \(random.seed)" }
            // A released upload counts as ahead again, so the window may be overfull; then no other upload is called.
            if !calls.prepare.isEmpty, ahead + calls.prepare.count > slots + 2 { return "\(ahead) ahead" }
            if let broken = brokenBound(day.queue, day.naive, slots, perHost) { return "move \(move): \(broken)" }
        }
        return nil
    }

    private func brokenBound(_ queue: AdmissionQueue, _ naive: NaiveQueue, _ slots: Int, _ perHost: Int) -> String? {
        if queue.running != naive.running.count || queue.running > slots { return "\(queue.running) running" }
        if queue.ahead != naive.ahead.count { return "\(queue.ahead) ahead" }
        let busiest = Dictionary(naive.running.map { ($0.host, 1) }, uniquingKeysWith: +).values.max() ?? 0
        return busiest > perHost ? "\(busiest) to one host" : nil
    }

    @Test(arguments: [(8, 5), (8, 1), (3, 2)])
    func `a busy host does not keep other uploads from a free slot`(slots: Int, perHost: Int) {
        var queue = AdmissionQueue(slots: slots, slotsPerHost: perHost)
        var toPrepare: [UploadID] = []
        var running: [UploadID] = []
        func take(_ calls: AdmissionQueue.Calls) {
            toPrepare += calls.prepare
            running += calls.start
        }
        // A hundred for one host, then one for each of several other hosts.
        for number in 0..<100 { take(queue.join(UploadID(rawValue: UInt64(number)), host: "busy")) }
        for number in 100..<(100 + slots) {
            take(queue.join(UploadID(rawValue: UInt64(number)), host: "other\(number)"))
        }
        while !toPrepare.isEmpty { take(queue.ready(toPrepare.removeFirst())) }
        #expect(queue.running == slots)
        #expect(running.count { $0.rawValue < 100 } == min(perHost, slots))
    }

    @Test func `uploads start in order of arrival, and none remains`() {
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

    /// A flood of urgent uploads, one after another, with a single slot.
    @Test(arguments: [(UploadPriority.veryLow, UploadPriority.veryHigh), (.normal, .high), (.low, .veryHigh)])
    func `aging bounds how often a low-priority upload is overtaken`(patient: UploadPriority, urgent: UploadPriority) {
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
        // One upload occupies the slot while the others arrive.
        serve(queue.join(UploadID(rawValue: 0), host: "host"))
        for number in UInt64(10)..<20 { serve(queue.join(UploadID(rawValue: number), host: "host", priority: urgent)) }
        serve(queue.join(UploadID(rawValue: 1), host: "host", priority: patient))
        for number in UInt64(100)..<1_000 {
            serve(queue.join(UploadID(rawValue: number), host: "host", priority: urgent))
        }
        serve(queue.leave(UploadID(rawValue: 0)))
        #expect(hasStarted)
        // The ten before it, later ones within reach, and the few that were already ahead of the queue.
        let bound = 10 + reach * (urgent.rawValue - patient.rawValue) + 3
        #expect(overtaken <= bound)
        #expect(overtaken > bound - 10)
        #expect(queue.count == 0)
    }

    @Test func `a reprioritized upload keeps its arrival number`() {
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
        // Three may already have been called to prepare.
        #expect(started.firstIndex(of: 40)! <= 4)
        #expect(Set(started).count == 50)
    }

    @Test func `leaving twice and calls with unknown ids change nothing`() {
        var queue = AdmissionQueue(slots: 1, slotsPerHost: 1)
        let id = UploadID(rawValue: 1)
        let noCalls = AdmissionQueue.Calls()
        let calls = [
            queue.join(id, host: "host"), queue.join(id, host: "host"), queue.ready(id), queue.ready(id),
            queue.ready(UploadID(rawValue: 2)), queue.leave(id), queue.leave(id),
        ]
        #expect(calls == [.init(prepare: [id]), noCalls, .init(start: [id]), noCalls, noCalls, noCalls, noCalls])
        #expect(queue.running == 0)
    }
}
