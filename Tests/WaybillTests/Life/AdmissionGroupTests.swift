import Testing
import WaybillCore

@testable import Waybill

@Suite struct AdmissionGroupTests {
    /// Prepares uploads when the queue asks for it, and keeps started ones until they leave.
    private struct QueueHarness {
        var queue: AdmissionQueue
        private(set) var started: [UInt64] = []
        private(set) var prepared = 0

        init(slots: Int, perHost: Int) {
            queue = AdmissionQueue(slots: slots, slotsPerHost: perHost)
        }

        mutating func handle(_ calls: AdmissionQueue.Calls) {
            var all = [calls]
            while let next = all.popLast() {
                started += next.start.map(\.rawValue)
                prepared += next.prepare.count
                for id in next.prepare { all.append(queue.ready(id)) }
            }
        }

        mutating func join(_ number: UInt64, group: String? = nil, isHeld: Bool = false) {
            handle(queue.join(UploadID(rawValue: number), host: "host", group: group, isHeld: isHeld))
        }
    }

    @Test(arguments: [(8, 5), (8, 8), (3, 2), (1, 1)])
    func `a full group does not keep other uploads from a free slot`(slots: Int, perHost: Int) {
        var harness = QueueHarness(slots: slots, perHost: perHost)
        harness.handle(harness.queue.limit(group: "few", to: 1))
        for number in UInt64(0)..<200 { harness.join(number, group: "few") }
        #expect(harness.started == [0])
        for number in UInt64(200)..<230 { harness.join(number) }
        #expect(harness.queue.running == min(perHost, slots))
        #expect(harness.started.count { $0 < 200 } == 1)
        harness.handle(harness.queue.leave(UploadID(rawValue: 0)))
        #expect(harness.started.last == (slots == 1 ? 1 : harness.started.last))
    }

    @Test func `the slots of a group can be raised, lowered and removed`() {
        var harness = QueueHarness(slots: 6, perHost: 6)
        for number in UInt64(0)..<20 { harness.join(number, group: "g") }
        #expect(harness.queue.running == 6)
        harness.handle(harness.queue.limit(group: "g", to: 2))
        #expect(harness.queue.running == 6)
        for number in UInt64(0)..<5 { harness.handle(harness.queue.leave(UploadID(rawValue: number))) }
        #expect(harness.queue.running == 2)
        harness.handle(harness.queue.limit(group: "g", to: 4))
        #expect(harness.queue.running == 4)
        harness.handle(harness.queue.limit(group: "g", to: nil))
        #expect(harness.queue.running == 6)
        #expect(harness.started == Array(0..<11))
    }

    @Test func `held uploads keep their position and do not count towards preparation`() {
        var harness = QueueHarness(slots: 1, perHost: 1)
        for number in UInt64(0)..<10 { harness.join(number) }
        #expect(harness.queue.ahead == 3)
        let before = harness.prepared
        for number in UInt64(1)..<4 { harness.handle(harness.queue.hold(UploadID(rawValue: number))) }
        #expect(harness.prepared == before + 3)
        harness.handle(harness.queue.leave(UploadID(rawValue: 0)))
        #expect(harness.started == [0, 4])
        for number in [UInt64(3), 1, 2] { harness.handle(harness.queue.release(UploadID(rawValue: number))) }
        for number in [UInt64(4), 1, 2, 3] { harness.handle(harness.queue.leave(UploadID(rawValue: number))) }
        #expect(harness.started == [0, 4, 1, 2, 3, 5])
    }

    @Test func `holding and releasing thousands of uploads takes linear time`() {
        let count: UInt64 = 20_000
        var queue = AdmissionQueue(slots: 8, slotsPerHost: 5)
        for number in 0..<count { _ = queue.join(UploadID(rawValue: number), host: "host", isHeld: true) }
        #expect(queue.ahead == 0)
        queue.suspendCalls()
        for number in 0..<count { _ = queue.release(UploadID(rawValue: number)) }
        #expect(queue.resumeCalls().prepare.map(\.rawValue) == Array(0..<10))
        queue.suspendCalls()
        for number in 0..<count { _ = queue.leave(UploadID(rawValue: number)) }
        #expect(queue.resumeCalls() == AdmissionQueue.Calls())
        #expect(queue.count == 0 && queue.ahead == 0 && queue.running == 0)
    }
}
