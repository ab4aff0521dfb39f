import Testing

@testable import Waybill

@Suite struct HandleRegistryTests {
    @Test func `the highest priority applies until its handle leaves`() {
        var book = HandleRegistry()
        let low = book.join(priority: .low, isPaused: false, word: 0)
        let high = book.join(priority: .high, isPaused: false, word: 0)
        #expect(book.priority == .high)
        book.prioritize(low, .veryHigh)
        #expect(book.priority == .veryHigh)
        book.prioritize(low, .veryLow)
        #expect(book.leave(high) == .apart)
        #expect(book.priority == .veryLow)
        #expect(book.leave(high) == .gone)
        #expect(book.leave(low) == .last)
        #expect(book.members == [low])
    }

    @Test func `an upload is paused when all its handles are paused`() {
        var book = HandleRegistry()
        let first = book.join(priority: .normal, isPaused: true, word: 0)
        #expect(book.isPaused)
        let second = book.join(priority: .normal, isPaused: false, word: 0)
        #expect(!book.isPaused)
        book.setPaused(second, true, word: 1)
        #expect(book.isPaused)
        book.setPaused(nil, false, word: 2)
        #expect(!book.isPaused(first) && !book.isPaused(second))
        book.setPaused(first, true, word: 3)
        #expect(book.leave(second) == .apart)
        #expect(book.isPaused)
    }

    @Test func `a stale pause request is ignored`() {
        var book = HandleRegistry()
        let handle = book.join(priority: .normal, isPaused: false, word: 4)
        book.setPaused(nil, true, word: 3)
        #expect(!book.isPaused)
        book.setPaused(handle, true, word: 6)
        book.setPaused(nil, false, word: 5)
        #expect(book.isPaused)
    }
}
