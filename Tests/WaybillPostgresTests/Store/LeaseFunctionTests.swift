#if Shared
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// What the function of a lease does while it waits for other sessions, and in sessions of a pooler.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct LeaseFunctionTests {
        @Test func `a lease that has waited for a lane uses the time after the wait`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            // Not a constant: a function that is replaced is noticed later.
            try await world.observer.run(PostgresStatement("CREATE TABLE public.clock AS SELECT 1000000::bigint AS t"))
            try await world.replaceClock("t FROM public.clock")
            _ = try await store.enqueue(SharedWorld.items(1))
            try await store.lane("h:80", .setRate(LaneRate(2, per: .seconds(10))))
            _ = try await store.lease(SharedWorld.request("w", 0))
            let leased = try await leaseWaiting(store, world, for: "waybill.lane", "name = 'h:80'") {
                try await world.observer.run(PostgresStatement("UPDATE public.clock SET t = 1003000"))
            }
            #expect(leased.items.map(\.life.leasedAt) == [1_003_000])
            #expect(try await world.value("SELECT full_at FROM waybill.lane") == 1_003_000_000 + 5_000_000)
        }

        @Test func `a lease that has waited for the row of its worker sees a lane that was blocked meanwhile`()
            async throws
        {
            let world = try await SharedWorld()
            let (store, other) = (try await world.open(), try await world.open())
            _ = try await store.enqueue(SharedWorld.items(3))
            try await world.observer.run(
                PostgresStatement("INSERT INTO waybill.worker(token, host, until) VALUES ('w', 'h', 0)"))
            let leased = try await leaseWaiting(store, world, for: "waybill.worker", "token = 'w'") {
                try await other.lane("h:80", .block("status401", jitter: 1))
            }
            #expect(leased.items.isEmpty)
        }

        @Test func `a session without settings reads no table in whole`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            // The plans of the first leases are those of a short queue.
            _ = try await store.enqueue(SharedWorld.items(60))
            for setting in ["enable_seqscan = on", "plan_cache_mode = auto"] {
                try await world.observer.run(PostgresStatement("SET \(setting)"))
            }
            for _ in 0..<6 { try await lease(world) }
            _ = try await store.enqueue(SharedWorld.items(5_000))
            try await world.observer.run(
                PostgresStatement("INSERT INTO waybill.lane(name) SELECT 'idle' || n FROM generate_series(1, 50) n"))
            try await world.observer.run(PostgresStatement("ANALYZE waybill.item, waybill.lane"))
            let before = try await scans(world)
            for _ in 0..<3 { try await lease(world) }
            #expect(try await scans(world) == before)
        }

        @Test func `a lease counts the items in progress of a limited lane once`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let lanes = (0..<5).map { "h\($0):80" }
            for lane in lanes {
                _ = try await store.enqueue(SharedWorld.items(20, lane: lane))
                try await store.lane(lane, .setMaxRunning(15))
            }
            let before = try await heldScans(world)
            try await lease(world, slots: 100, count: 75)
            let scans = try await heldScans(world) - before
            #expect(scans < 2 * Int64(lanes.count), "\(scans)")
        }

        private func heldScans(_ world: SharedWorld) async throws -> Int64 {
            try await world.observer.run(PostgresStatement("SELECT pg_stat_force_next_flush()"))
            return try await world.value(
                "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid = 'waybill.item_held'::regclass")
        }

        /// Leases in the session of the observer, whose reads are known at once.
        private func lease(_ world: SharedWorld, slots: Int = 5, count: Int = 5) async throws {
            let lease = "SELECT * FROM waybill.wb_lease('w', 'h', 60000, \(slots), \(slots), '{}', '{}', NULL)"
            let rows = try await world.observer.run([LeaseStatements.settings, PostgresStatement(lease)])
            #expect(rows[1].count == count + 1)
        }

        /// The number of times that the table of items was read in whole.
        private func scans(_ world: SharedWorld) async throws -> Int64 {
            try await world.observer.run(PostgresStatement("SELECT pg_stat_force_next_flush()"))
            return try await world.value(
                "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'waybill.item'::regclass")
        }

        /// Leases while another session has locked a row, and performs work while the lease waits for it.
        private func leaseWaiting(
            _ store: PostgresStore, _ world: SharedWorld, for table: String, _ condition: String,
            _ work: () async throws -> Void
        ) async throws -> LeaseResult {
            let locking = try world.database.connect()
            let leasing = try await locking.transaction { transaction throws(PostgresError) in
                try await transaction.run([PostgresStatement("SELECT FROM \(table) WHERE \(condition) FOR UPDATE")])
                let leasing = Task { try await store.lease(SharedWorld.request("w")) }
                let isWaiting = PostgresStatement(
                    """
                    SELECT EXISTS(SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock')
                    """)
                while try await world.observer.run(isWaiting)[0, 0] != .bool(true) {}
                do { try await work() } catch { Issue.record(error) }
                return leasing
            }
            return try await leasing.value
        }
    }
#endif
