import TestSupport
import Testing

@testable import WaybillStores

@Suite struct `State machine of multipart uploads` {
    private static func receipt(_ number: Int, _ plan: PartPlan) -> PartReceipt {
        PartReceipt(number: number, size: plan.size(of: number), tag: "t\(number)")
    }

    private let plan = PartPlan(objectSize: 35, partSize: 10)

    @Test func `parts are sent in order, within the concurrency limit`() {
        var machine = MultipartStateMachine(plan: plan, maximumConcurrentParts: 2)
        #expect(machine.start() == [.send(1), .send(2)])
        #expect(machine.handle(.stored(Self.receipt(2, plan))) == [.send(3)])
        #expect(machine.handle(.stored(Self.receipt(1, plan))) == [.send(4)])
        #expect(machine.handle(.stored(Self.receipt(3, plan))).isEmpty)
        #expect(
            machine.handle(.stored(Self.receipt(4, plan)))
                == [.complete((1...4).map { Self.receipt($0, plan) })])
    }

    @Test func `listed parts are not sent, including a short last part`() {
        var machine = MultipartStateMachine(
            plan: plan, listed: [1, 2, 4].map { Self.receipt($0, plan) }, maximumConcurrentParts: 5)
        #expect(machine.storedBytes == 25)
        #expect(machine.start() == [.send(3)])
    }

    @Test func `listed parts with other sizes are ignored`() {
        var wrong = Self.receipt(1, plan)
        wrong.size = 9
        var beyond = wrong
        beyond.number = 7
        var machine = MultipartStateMachine(plan: plan, listed: [wrong, beyond], maximumConcurrentParts: 9)
        #expect(machine.start() == [.send(1), .send(2), .send(3), .send(4)])
    }

    @Test func `with all parts listed the upload is completed`() {
        var machine = MultipartStateMachine(
            plan: plan, listed: (1...4).map { Self.receipt($0, plan) }, maximumConcurrentParts: 1)
        #expect(machine.start() == [.complete((1...4).map { Self.receipt($0, plan) })])
    }

    @Test func `a corrupted part is sent once more, but not a third time`() {
        var machine = MultipartStateMachine(plan: plan, maximumConcurrentParts: 1)
        _ = machine.start()
        #expect(machine.handle(.corrupted(1)) == [.send(1)])
        #expect(machine.handle(.corrupted(1)) == [.fail])
        #expect(machine.isStopping)
    }

    @Test func `parts that may be stored are listed at the end, and only missing ones are sent again`() {
        var machine = MultipartStateMachine(plan: plan, maximumConcurrentParts: 2)
        _ = machine.start()
        #expect(machine.handle(.uncertain(1)) == [.send(3)])
        #expect(machine.handle(.uncertain(3)) == [.send(4)])
        #expect(machine.handle(.stored(Self.receipt(2, plan))).isEmpty)
        #expect(machine.handle(.stored(Self.receipt(4, plan))) == [.list])
        #expect(machine.handle(.listed([Self.receipt(1, plan), Self.receipt(2, plan)])) == [.send(3)])
        #expect(
            machine.handle(.stored(Self.receipt(3, plan)))
                == [.complete((1...4).map { Self.receipt($0, plan) })])
    }

    @Test func `a failure stops the other parts and waits for their ends`() {
        var machine = MultipartStateMachine(plan: plan, maximumConcurrentParts: 3)
        _ = machine.start()
        #expect(machine.handle(.failed(2)) == [.stop])
        #expect(machine.handle(.stored(Self.receipt(1, plan))).isEmpty)
        #expect(machine.handle(.failed(3)) == [.fail])
        #expect(machine.done.keys.contains(1))
        #expect(machine.handle(.stored(Self.receipt(4, plan))).isEmpty)
    }

    @Test func `random event orders never send stored parts and end once`() {
        var random = SeededGenerator()
        for round in 0..<4_000 {
            var model = PartModel(random: &random)
            model.run(&random)
            #expect(model.violations.isEmpty, "round \(round), seed \(random.seed): \(model.violations)")
            if !model.violations.isEmpty { return }
        }
    }
}

/// A simulated store and network around one machine: the store's state is the truth, and the machine may know less.
private struct PartModel {
    private var machine: MultipartStateMachine
    private let plan: PartPlan
    private let maximumConcurrentParts: Int
    private var stored: Set<Int>
    private var known: Set<Int>
    private var inFlight: Set<Int> = []
    private var isListing = false
    private var sends: [Int: Int] = [:]
    private var ends = 0
    private(set) var violations: [String] = []

    init(random: inout SeededGenerator) {
        plan = PartPlan(objectSize: .random(in: 0...90, using: &random), partSize: .random(in: 1...20, using: &random))
        maximumConcurrentParts = .random(in: 1...6, using: &random)
        var listed: Set<Int> = []
        for number in plan.numbers where Int.random(in: 0...3, using: &random) == 0 { listed.insert(number) }
        (stored, known) = (listed, listed)
        let plan = plan
        machine = MultipartStateMachine(
            plan: plan, listed: listed.map { PartReceipt(number: $0, size: plan.size(of: $0), tag: "") },
            maximumConcurrentParts: maximumConcurrentParts)
    }

    mutating func run(_ random: inout SeededGenerator) {
        perform(machine.start())
        for _ in 0..<2_000 where ends == 0 {
            guard let event = next(&random) else { break }
            perform(machine.handle(event))
        }
        if ends != 1 { violations.append("\(ends) ends") }
        // Late events change nothing.
        perform(machine.handle(.stored(PartReceipt(number: 1, size: plan.size(of: 1), tag: ""))))
        perform(machine.handle(.cancelled))
        if ends > 1 { violations.append("an end after the end") }
    }

    private mutating func next(_ random: inout SeededGenerator) -> MultipartStateMachine.Event? {
        if isListing, inFlight.isEmpty || Bool.random(using: &random) {
            isListing = false
            if Int.random(in: 0...19, using: &random) == 0 { return .listingFailed }
            known.formUnion(stored)
            return .listed(stored.map(receipt))
        }
        guard let number = inFlight.randomElement(using: &random) else { return nil }
        // An event of a part that is not in flight must be ignored.
        if Int.random(in: 0...9, using: &random) == 0, let other = plan.numbers.randomElement(using: &random),
            !inFlight.contains(other)
        {
            return .failed(other)
        }
        // Cancelling does not remove anything from the wire: pending requests still end.
        if Int.random(in: 0...39, using: &random) == 0 { return .cancelled }
        inFlight.remove(number)
        switch Int.random(in: 0...29, using: &random) {
        case 0: return .failed(number)
        case 2...5: return .corrupted(number)
        case 6...8:
            stored.insert(number)
            return .uncertain(number)
        case 9...11: return .uncertain(number)
        default:
            stored.insert(number)
            known.insert(number)
            return .stored(receipt(number))
        }
    }

    private func receipt(_ number: Int) -> PartReceipt {
        PartReceipt(number: number, size: plan.size(of: number), tag: "")
    }

    private mutating func perform(_ actions: [MultipartStateMachine.Action]) {
        for action in actions {
            if ends > 0 { violations.append("\(action) after the end") }
            switch action {
            case .send(let number):
                if known.contains(number) { violations.append("part \(number) was listed and is sent") }
                if !inFlight.insert(number).inserted { violations.append("part \(number) is in flight twice") }
                if inFlight.count > maximumConcurrentParts { violations.append("\(inFlight.count) in flight") }
                sends[number, default: 0] += 1
                if sends[number]! > 3 { violations.append("part \(number) is sent \(sends[number]!) times") }
                if machine.isStopping { violations.append("part \(number) is sent after a failure") }
            case .list: isListing = true
            case .stop: break
            case .complete(let receipts):
                ends += 1
                if receipts.map(\.number) != Array(plan.numbers) { violations.append("completed with \(receipts)") }
                if !receipts.allSatisfy({ stored.contains($0.number) }) {
                    violations.append("completed what is not stored")
                }
                if !inFlight.isEmpty { violations.append("completed with parts in flight") }
            case .fail:
                ends += 1
                if !machine.inFlight.isEmpty { violations.append("gave up with parts in flight") }
            }
        }
    }
}
