import TestSupport
import Testing
import Waybill

/// Every fault of ``FaultTable``, as a raw body and as a form.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FaultMatrixTests {
    @Test(arguments: FaultTable.rows, Shape.allCases)
    func `a fault ends as the table says`(row: FaultRow, shape: Shape) async throws {
        try await FaultDriver(row: row, shape: shape).check()
    }

    @Test func `the table names each fault at a place once`() {
        let names = FaultTable.rows.map(\.description)
        #expect(Set(names).count == names.count)
        #expect(FaultTable.rows.allSatisfy { !$0.endings.isEmpty })
    }
}

/// What is left of the process when all faults are over. Only a process that does nothing else can tell, so the test runs
/// itself in one.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FaultLeakTests {
    @Test func `the whole table leaves no descriptor and no thread behind`() async throws {
        guard !Alone.isAlone else { return try await runAlone() }
        try await Alone.run("FaultLeakTests")
    }

    private func runAlone() async throws {
        // What is made once in a process is made now: Swift's threads, the disk's, libcurl's own state.
        try await runAll(FaultTable.rows.filter { $0.limit == .none })
        let before = await Census.settled { $0.threads.count { $0 == "waybill-curl" } == 0 }
        try await runAll(FaultTable.rows)
        let after = await Census.settled { census in
            census.descriptors.count <= before.descriptors.count && census.threads.count <= before.threads.count
                && !census.threads.contains("waybill-curl")
        }
        Alone.expectNothingLeft(before: before, after: after)
    }

    private func runAll(_ rows: [FaultRow]) async throws {
        var drivers = rows.flatMap { row in Shape.allCases.map { FaultDriver(row: row, shape: $0) } }[...]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for driver in drivers.prefix(8) { group.addTask { try await driver.check() } }
            drivers = drivers.dropFirst(8)
            while try await group.next() != nil {
                if let driver = drivers.popFirst() { group.addTask { try await driver.check() } }
            }
        }
    }
}
