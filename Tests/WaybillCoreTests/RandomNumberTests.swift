import CTestSupport
import Testing
import WaybillCore

@Suite(.serialized) struct RandomNumberTests {
    @Test func `no number is given twice, whatever the number of threads`() async {
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 { group.addTask { Self.take(2_000) } }
            return await group.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
        }
        #expect(numbers.count == 16_000)
        #expect(!numbers.contains(0))
    }

    /// In rounds, because a test on another thread may use up the buffer between the two calls.
    @Test func `a forked process draws other numbers than its parent`() {
        var all = Self.take(1)
        for _ in 0..<20 {
            var child = [UInt64](repeating: 0, count: 48)
            #expect(unsafe cts_call_in_copy({ Self.next() }, &child, 48) == 0)
            all += child + Self.take(48)
        }
        #expect(Set(all).count == all.count)
    }

    /// Calls nothing but the generator: a lock of the Swift runtime that another thread held at the fork is never
    /// released in the child.
    private static func next() -> UInt64 {
        var generator = BufferedRandomNumberGenerator()
        return generator.next()
    }

    private static func take(_ count: Int) -> [UInt64] {
        var generator = BufferedRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }
}
