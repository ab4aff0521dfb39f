import Testing

@testable import Waybill

@Suite struct HandleRegistryTests {
    @Test func `the highest priority applies until its handle leaves`() {
        var registry = HandleRegistry()
        let low = registry.join(priority: .low, isPaused: false, sequence: 0)
        let high = registry.join(priority: .high, isPaused: false, sequence: 0)
        #expect(registry.priority == .high)
        registry.prioritize(low, .veryHigh)
        #expect(registry.priority == .veryHigh)
        registry.prioritize(low, .veryLow)
        #expect(registry.leave(high) == .othersRemain)
        #expect(registry.priority == .veryLow)
        #expect(registry.leave(high) == .alreadyLeft)
        #expect(registry.leave(low) == .last)
        #expect(registry.members == [low])
    }

    @Test func `an upload is paused when all its handles are paused`() {
        var registry = HandleRegistry()
        let first = registry.join(priority: .normal, isPaused: true, sequence: 0)
        #expect(registry.isPaused)
        let second = registry.join(priority: .normal, isPaused: false, sequence: 0)
        #expect(!registry.isPaused)
        registry.setPaused(second, true, sequence: 1)
        #expect(registry.isPaused)
        registry.setPaused(nil, false, sequence: 2)
        #expect(!registry.isPaused(first) && !registry.isPaused(second))
        registry.setPaused(first, true, sequence: 3)
        #expect(registry.leave(second) == .othersRemain)
        #expect(registry.isPaused)
    }

    @Test func `a stale pause request is ignored`() {
        var registry = HandleRegistry()
        let handle = registry.join(priority: .normal, isPaused: false, sequence: 4)
        registry.setPaused(nil, true, sequence: 3)
        #expect(!registry.isPaused)
        registry.setPaused(handle, true, sequence: 6)
        registry.setPaused(nil, false, sequence: 5)
        #expect(registry.isPaused)
    }
}
