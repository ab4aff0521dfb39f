import Testing
import WaybillCore

@testable import Waybill

@Suite struct AdmissionGroupTests {
    /// Prepares uploads when the queue asks for it, and keeps started ones until they leave.
    private struct Floor {
        var queue: AdmissionQueue
        private(set) var started: [UInt64] = []
        private(set) var prepared = 0

        init(slots: Int, perHost: Int) {
            queue = AdmissionQueue(slots: slots, slotsPerHost: perHost)
        }

        mutating func take(_ calls: AdmissionQueue.Calls) {
            var all = [calls]
            while let next = all.popLast() {
                started += next.start.map(\.rawValue)
                prepared += next.prepare.count
                for id in next.prepare { all.append(queue.ready(id)) }
            }
        }

        mutating func join(_ number: UInt64, group: String? = nil, isHeld: Bool = false) {
            take(queue.join(UploadID(rawValue: number), host: "host", group: group, isHeld: isHeld))
        }
    }

    @Test(arguments: [(8, 5), (8, 8), (3, 2), (1, 1)])
    func `a full group does not keep other uploads from a free slot`(slots: Int, perHost: Int) {
        var floor = Floor(slots: slots, perHost: perHost)
        floor.take(floor.queue.limit(group: "few", to: 1))
        for number in UInt64(0)..<200 { floor.join(number, group: "few") }
        #expect(floor.started == [0])
        for number in UInt64(200)..<230 { floor.join(number) }
        #expect(floor.queue.running == min(perHost, slots))
        #expect(floor.started.count { $0 < 200 } == 1)
        floor.take(floor.queue.leave(UploadID(rawValue: 0)))
        #expect(floor.started.last == (slots == 1 ? 1 : floor.started.last))
    }

    @Test func `the slots of a group can be raised, lowered and removed`() {
        var floor = Floor(slots: 6, perHost: 6)
        for number in UInt64(0)..<20 { floor.join(number, group: "g") }
        #expect(floor.queue.running == 6)
        floor.take(floor.queue.limit(group: "g", to: 2))
        #expect(floor.queue.running == 6)
        for number in UInt64(0)..<5 { floor.take(floor.queue.leave(UploadID(rawValue: number))) }
        #expect(floor.queue.running == 2)
        floor.take(floor.queue.limit(group: "g", to: 4))
        #expect(floor.queue.running == 4)
        floor.take(floor.queue.limit(group: "g", to: nil))
        #expect(floor.queue.running == 6)
        #expect(floor.started == Array(0..<11))
    }

    @Test func `held uploads keep their position and do not count towards preparation`() {
        var floor = Floor(slots: 1, perHost: 1)
        for number in UInt64(0)..<10 { floor.join(number) }
        #expect(floor.queue.ahead == 3)
        let before = floor.prepared
        for number in UInt64(1)..<4 { floor.take(floor.queue.hold(UploadID(rawValue: number))) }
        #expect(floor.prepared == before + 3)
        floor.take(floor.queue.leave(UploadID(rawValue: 0)))
        #expect(floor.started == [0, 4])
        for number in [UInt64(3), 1, 2] { floor.take(floor.queue.release(UploadID(rawValue: number))) }
        for number in [UInt64(4), 1, 2, 3] { floor.take(floor.queue.leave(UploadID(rawValue: number))) }
        #expect(floor.started == [0, 4, 1, 2, 3, 5])
    }

    @Test func `holding and releasing thousands of uploads takes linear time`() {
        let count: UInt64 = 20_000
        var queue = AdmissionQueue(slots: 8, slotsPerHost: 5)
        for number in 0..<count { _ = queue.join(UploadID(rawValue: number), host: "host", isHeld: true) }
        #expect(queue.ahead == 0)
        queue.halt()
        for number in 0..<count { _ = queue.release(UploadID(rawValue: number)) }
        #expect(queue.goOn().prepare.map(\.rawValue) == Array(0..<10))
        queue.halt()
        for number in 0..<count { _ = queue.leave(UploadID(rawValue: number)) }
        #expect(queue.goOn() == AdmissionQueue.Calls())
        #expect(queue.count == 0 && queue.ahead == 0 && queue.running == 0)
    }
}
