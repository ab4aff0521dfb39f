#if Shared
    import Foundation
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// The functions to cancel and read items, and the examples of `Docs/OutboxSQL.md`.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SQLFunctionsTests {
        /// Each state that an unfinished item can have.
        private static let lives = OutboxState.allCases.filter { !$0.isTerminal }.flatMap { state in
            [false, true].flatMap { isDoubtful in
                [ItemLife.PendingRequest.nothing, .pause, .cancel].map { request in
                    var life = ItemLife()
                    (life.state, life.isDoubtful, life.pendingRequest) = (state, isDoubtful, request)
                    life.reason = "status503"
                    return life
                }
            }
        }

        @Test func `cancel does to an item in each state what Waybill does`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            for life in Self.lives {
                let ids = try await store.enqueue(SharedWorld.items(2)).map(\.id)
                try await world.observer.run(
                    PostgresStatement(
                        "UPDATE waybill.item SET state = $1, doubtful = $2, asked = $3, reason = 'r', size = 7 WHERE id = ANY($4)",
                        .int2(Int16(life.state.number)), .bool(life.isDoubtful),
                        .int2(Int16(life.pendingRequest.rawValue)),
                        .array(ids.map(Optional.some))))
                let changed = try await store.control(.cancel, .item(OutboxID(rawValue: ids[0]))).changed
                #expect(try await world.value("SELECT waybill.cancel(\(ids[1]))") == Int64(changed), "\(life)")
                let rows = try await world.texts(
                    """
                    SELECT (r - '{id,spec,idem_key,created_at,rank,seq,ended_at,day,rev}'::text[])::text FROM (
                        SELECT id, to_jsonb(i) AS r FROM waybill.item i
                        UNION ALL SELECT id, to_jsonb(e) FROM waybill.ended e) t
                    WHERE id IN (\(ids[0]), \(ids[1]))
                    """)
                #expect(rows.count == 2 && rows[0] == rows[1], "\(life)")
            }
            let cancelled = try await store.tally(batch: nil)
            #expect(cancelled.bytes[.cancelled] == Int64(cancelled[.cancelled]) * 7)
        }

        @Test func `a lease is lost to a cancellation by SQL`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let id = try await store.enqueue(SharedWorld.items(1))[0].id
            let leased = try await store.lease(SharedWorld.request("w")).items
            #expect(try await world.value("SELECT waybill.cancel(\(id))") == 1)
            let held = HeldLease(item: id, number: leased[0].life.leaseNumber)
            #expect(try await store.renew([held], token: "w") == [.stopRequested])
            let end = ItemChange(id, .ended(.aborted, lease: 1))
            #expect(try await store.apply([end]).map(\.life?.state) == [.cancelled])
        }

        @Test func `append waits, keep keeps, and replace cancels all items with the key`() async throws {
            let world = try await SharedWorld()
            func enqueue(_ policy: String) async throws -> Int64 {
                try await world.value(
                    "SELECT id FROM waybill.enqueue('http://b', deduplication_key => 'k', duplicates => '\(policy)')")
            }
            let first = try await enqueue("append")
            #expect(try await enqueue("keep") == first)
            let second = try await enqueue("append")
            let third = try await enqueue("append")
            #expect(try await world.value("SELECT waybill.cancel(\(second))") == 1)
            #expect(try await world.value("SELECT after FROM waybill.item WHERE id = \(third)") == first)
            let store = try await world.open()
            #expect(try await store.lease(SharedWorld.request("w")).items.map(\.id) == [first])
            let last = try await enqueue("replace")
            #expect(
                try await world.texts("SELECT state FROM waybill.items ORDER BY id") == [
                    "leased", "cancelled", "cancelled", "ready",
                ])
            #expect(try await world.value("SELECT after FROM waybill.item WHERE id = \(last)") == first)
            #expect(try await world.value("SELECT asked FROM waybill.item WHERE id = \(first)") == 2)
            #expect(try await store.apply([ItemChange(first, .ended(.aborted, lease: 1))]).count == 1)
            #expect(try await store.lease(SharedWorld.request("w")).items.map(\.id) == [last])
            #expect(try await store.checkIntegrity() == "ok")
        }

        @Test func `results of several cancellations in one transaction have numbers of their own`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let ids = try await store.enqueue(SharedWorld.items(5)).map(\.id)
            try await world.observer.run(ids.reversed().map { PostgresStatement("SELECT waybill.cancel(\($0))") })
            #expect(try await store.results(after: 0, limit: 9).map(\.item.id.rawValue) == ids.reversed())
            let first = try await store.results(after: 0, limit: 1)[0].sequence
            #expect(try await world.value("SELECT count(*) FROM waybill.results(\(first), 3)") == 3)
        }

        @Test func `cancel creates the partition of a day on which no worker ran`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let id = try await store.enqueue(SharedWorld.items(1))[0].id
            try await world.replaceClock("\(SharedWorld.clock) + 9 * 86400000::bigint")
            #expect(try await world.value("SELECT waybill.cancel(\(id))") == 1)
            #expect(try await store.results(after: 0, limit: 9).count == 1)
        }

        @Test func `results are not read before those of transactions that began earlier`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let ids = try await store.enqueue(SharedWorld.items(2)).map(\.id)
            let other = try world.database.connect()
            try await world.observer.transaction { transaction throws(PostgresError) in
                try await transaction.run([PostgresStatement("SELECT pg_current_xact_id()")])
                try await other.run(PostgresStatement("SELECT waybill.cancel(\(ids[1]))"))
                let read = try await other.run(PostgresStatement("SELECT count(*) FROM waybill.results()"))
                #expect(read[0, 0] == .int8(0))
                try await transaction.run([PostgresStatement("SELECT waybill.cancel(\(ids[0]))")])
            }
            #expect(try await store.results(after: 0, limit: 9).map(\.item.id.rawValue) == ids)
        }

        @Test func `the examples for psql and Python run as printed`() async throws {
            let world = try await SharedWorld()
            let page = String(
                decoding: try Data(contentsOf: URL(filePath: ProjectRoot.file("Docs/OutboxSQL.md"))), as: UTF8.self)
            let directory = try TemporaryDirectory()
            try directory.write("card.jpg", String(repeating: "j", count: 20_000))
            var environment = ProcessInfo.processInfo.environment
            (environment["PGHOST"], environment["PGUSER"]) = (world.database.server.directory, "waybill")
            environment["PGDATABASE"] = world.database.name
            func run(_ words: [String]) async throws -> String {
                let run = try await ChildProcess.run(
                    words[0], Array(words.dropFirst()), environment: environment, directory: directory.path)
                #expect(run.exit == .status(0), "\(run.errorText)")
                return run.text
            }
            for (number, block) in Self.blocks("sql", in: page).enumerated() {
                // Roles belong to the server of all tests.
                let text = block.replacing(/\bapp\b/, with: "app_page_\(world.database.name)")
                    .replacing("DATABASE uploads", with: "DATABASE \(world.database.name)")
                try directory.write("\(number).sql", text)
                let output = try await run(["psql", "-v", "ON_ERROR_STOP=1", "-At", "-f", "\(number).sql"])
                if number == 0 { #expect(output == "1|t\n1|ready|0|\n1\n") }
            }
            for python in Self.blocks("python", in: page) {
                try directory.write("enqueue.py", python)
                #expect(try await run(["/usr/bin/python3", "enqueue.py"]) == "2 True\n")
                #expect(try await run(["/usr/bin/python3", "enqueue.py"]) == "2 False\n")
            }
            let count =
                "SELECT count(*) FROM waybill.item i JOIN waybill.body b ON b.item = i.id WHERE length(bytes) = 20000"
            #expect(try await world.value(count) == 1)
        }

        private static func blocks(_ language: String, in page: String) -> [String] {
            page.components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        }
    }

    extension SharedWorld {
        /// Returns the first column of a query.
        func texts(_ sql: String) async throws -> [String] {
            try await observer.run(PostgresStatement(sql)).rows.map { $0[0].text ?? "" }
        }

        func text(_ sql: String) async throws -> String { try await texts(sql).first ?? "" }
    }
#endif
