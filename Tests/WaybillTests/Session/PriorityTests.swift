import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct PriorityTests {
    /// A world with one slot, which the first upload occupies until the gate opens, and a full window of further
    /// uploads.
    private struct Line {
        let gate = ScriptGate()
        let world: SessionWorld
        var tasks: [UploadTask] = []

        init() async {
            let gate = gate
            let transport = ScriptedTransport { _, number in
                number == 0 ? [.wait(gate), .connect, .receiveRest, .respond(.ok)] : .responding(.ok)
            }
            world = SessionWorld(transport, slots: 1, slotsPerHost: 1)
            add("first")
            await gate.arrivals(atLeast: 1)
            // Three may be prepared ahead; uploads that were already called are not called back.
            for number in 0..<3 { add("ahead\(number)") }
        }

        @discardableResult
        mutating func add(_ name: String, _ priority: UploadPriority = .normal) -> UploadTask {
            var options = UploadOptions(retry: .none)
            options.priority = priority
            let request = UploadRequest(
                .put, "\(SessionWorld.url)/\(name)", content: .data([1]), options: options)
            tasks.append(world.session.start(request))
            return tasks[tasks.count - 1]
        }

        /// The names in the order in which they were sent.
        func order() async throws -> [String] {
            gate.open()
            for task in tasks { _ = await task.end() }
            return world.transport.transfers.map { String($0.request.url.split(separator: "/").last ?? "") }
                .filter { $0 != "first" && !$0.hasPrefix("ahead") }
        }
    }

    @Test func `uploads start by priority, then in order of arrival`() async throws {
        var line = await Line()
        for priority in UploadPriority.allCases + UploadPriority.allCases {
            line.add("\(priority)\(line.tasks.count)", priority)
        }
        let order = try await line.order()
        let ranks = order.map { name in UploadPriority.allCases.firstIndex { name.dropLast(1).hasPrefix("\($0)") } }
        #expect(order.count == 10)
        #expect(
            order.map { String($0.prefix { !$0.isNumber }) } == [
                "veryHigh", "veryHigh", "high", "high", "normal", "normal", "low", "low", "veryLow", "veryLow",
            ], "\(ranks)")
        for pair in stride(from: 0, to: 10, by: 2) {
            let numbers = order[pair..<pair + 2].compactMap { Int($0.filter(\.isNumber)) }
            #expect(numbers[0] < numbers[1])
        }
    }

    @Test func `the priority of a waiting upload can be changed`() async throws {
        var line = await Line()
        for number in 0..<4 { line.add("normal\(number)") }
        let late = line.add("late")
        #expect(late.priority == .normal)
        late.priority = .veryHigh
        #expect(late.priority == .veryHigh)
        line.tasks[4].priority = .low
        #expect(try await line.order() == ["late", "normal1", "normal2", "normal3", "normal0"])
    }

    @Test func `changing the priority after the end has no effect`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let task = world.start()
        _ = try await task.response
        task.priority = .high
        #expect(task.priority == .high)
        #expect(world.transport.transfers.count == 1)
    }
}
