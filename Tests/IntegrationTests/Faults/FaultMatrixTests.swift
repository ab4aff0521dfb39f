import TestSupport
import Testing
import Waybill

/// Every fault of ``FaultTable``, with a raw body and with a form.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FaultMatrixTests {
    @Test(arguments: FaultTable.rows, Shape.allCases)
    func `a fault ends as the table states`(row: FaultRow, shape: Shape) async throws {
        try await FaultDriver(row: row, shape: shape).check()
    }

    @Test(arguments: FaultTable.rows, Shape.allCases)
    func `a fault ends as the table states if libcurl exchanges the messages`(row: FaultRow, shape: Shape) async throws
    {
        let driver = FaultDriver(row: row, shape: shape) { server in
            FaultDriver.Route(
                url: server.url("/fault"),
                configure: { $0.curlOptions = [CurlOption("TCP_NODELAY", .number(1))] })
        }
        try await driver.check()
    }

    @Test func `the table names each fault and place once`() {
        let names = FaultTable.rows.map(\.description)
        #expect(Set(names).count == names.count)
        #expect(FaultTable.rows.allSatisfy { !$0.endings.isEmpty })
    }
}

/// Checks what remains in the process after all faults. The test runs itself in a separate process, because others
/// would disturb the counts.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct FaultLeakTests {
    @Test func `the whole table leaves no descriptor and no thread behind`() async throws {
        guard !IsolatedProcess.isIsolated else { return try await runIsolated() }
        try await IsolatedProcess.run("FaultLeakTests")
    }

    private func runIsolated() async throws {
        // Creates what exists once per process: threads of Swift and of disk access, global state of libcurl.
        try await runAll(FaultTable.rows.filter { $0.limit == .none })
        let before = await ProcessResources.settled { $0.threads.count { $0 == "waybill-curl" } == 0 }
        try await runAll(FaultTable.rows)
        let after = await ProcessResources.settled { census in
            census.descriptors.count <= before.descriptors.count && census.threads.count <= before.threads.count
                && !census.threads.contains("waybill-curl")
        }
        IsolatedProcess.expectNothingLeft(before: before, after: after)
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
