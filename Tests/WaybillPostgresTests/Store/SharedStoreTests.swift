#if Shared
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// What several stores do on one database.
    @Suite(
        .timeLimit(.minutes(5 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SharedStoreTests {
        @Test func `the verdict of a worker that was paused beyond its lease is refused`() async throws {
            let world = try await SharedWorld()
            let (zombie, other) = (try await world.open(), try await world.open())
            let id = try await zombie.enqueue(SharedWorld.items(1))[0].id
            let lease = try #require(try await zombie.lease(SharedWorld.request("zombie")).items.first)
            #expect(try await other.recover(token: "other") == 0)
            try await world.replaceClock("\(SharedWorld.clock) + 60001")
            #expect(try await other.recover(token: "other") == 1)
            let late = try await zombie.apply([SharedWorld.delivered(lease)])
            #expect(late.map(\.isAccepted) == [false])
            let held = HeldLease(item: id, number: lease.life.leaseNumber)
            #expect(try await zombie.renew([held], token: "zombie") == [.lost])
            #expect(try await other.lease(SharedWorld.request("other")).items.map(\.effect) == [.verify(lease: 2)])
            #expect(try await zombie.apply([SharedWorld.delivered(lease)])[0].isAccepted == false)
            #expect(try await other.results(after: 0, limit: 9).isEmpty)
            #expect(try await other.checkIntegrity() == "ok")
        }

        @Test func `workers with connections of their own deliver each item once`() async throws {
            let world = try await SharedWorld()
            let count = 400
            let first = try await world.open()
            _ = try await first.enqueue(SharedWorld.items(count))
            let ended = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for worker in 0..<6 {
                    group.addTask { try await SharedWorld.deliverAll(try await world.open(), "w\(worker)") }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(ended.count == count && Set(ended).count == count)
            #expect(try await first.tally(batch: nil).counts == [.done: count])
            #expect(try await world.value("SELECT max(lease_no) FROM waybill.ended") == 1)
        }

        @Test func `an end is not read before the ends of transactions that began earlier`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open { $0.resultPatience = .zero }
            _ = try await store.enqueue(SharedWorld.items(2))
            let leased = try await store.lease(SharedWorld.request("w")).items
            let rows = store.leased.withLock { $0 }
            let early = try #require(rows[leased[0].id])
            try await world.observer.transaction { transaction throws(PostgresError) in
                try await transaction.run([PostgresStatement("SELECT pg_current_xact_id()")])
                let applied = try? await store.apply([SharedWorld.delivered(leased[1])])
                #expect(applied?.first?.isAccepted == true)
                let results = try? await store.results(after: 0, limit: 9)
                #expect(results?.isEmpty == true)
                var write = ItemWrite(early.value, before: early)
                _ = write.item.full.row.handle(.ended(.delivered, lease: 1), at: 0)
                try await transaction.run([ItemWrites.end([write])])
            }
            let patient = try await world.open()
            let results = try await patient.results(after: 0, limit: 9)
            #expect(results.map(\.item.id.rawValue) == leased.map(\.id))
            #expect(results[0].sequence < results[1].sequence)
        }

        @Test func `a reader misses no end of eight committers`() async throws {
            let world = try await SharedWorld()
            let (count, writers) = (240, 8)
            let first = try await world.open()
            _ = try await first.enqueue(SharedWorld.items(count))
            let reader = try await world.open { $0.resultPatience = .zero }
            let read = try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<writers {
                    group.addTask {
                        _ = try await SharedWorld.deliverAll(try await world.open(), "w\(writer)", slots: 3)
                    }
                }
                var read: [OutboxResult] = []
                while read.count < count {
                    read += try await reader.results(after: read.last?.sequence ?? 0, limit: 7)
                    try Task.checkCancellation()
                }
                try await group.waitForAll()
                return read
            }
            #expect(Set(read.map(\.item.id)).count == count)
            #expect(try await first.results(after: 0, limit: 1_000).map(\.sequence) == read.map(\.sequence))
        }

        @Test func `changes of the same items in opposite orders cause no deadlock`() async throws {
            let world = try await SharedWorld()
            let stores = [try await world.open(), try await world.open()]
            let ids = try await stores[0].enqueue(SharedWorld.items(20)).map(\.id)
            try await withThrowingTaskGroup { group in
                for (store, ids) in zip(stores, [ids, ids.reversed()]) {
                    group.addTask {
                        for round in 0..<30 {
                            let event: ItemLife.Event = round % 2 == 0 ? .pause : .resume
                            _ = try await store.apply(ids.map { ItemChange($0, event) })
                        }
                    }
                }
                try await group.waitForAll()
            }
            let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            #expect(try await world.value(deadlocks) == 0)
        }

        @Test func `a limit of a lane holds for all workers together`() async throws {
            let world = try await SharedWorld()
            let stores = try await [world.open(), world.open(), world.open(), world.open()]
            _ = try await stores[0].enqueue(
                SharedWorld.items(40, lane: "limited") + SharedWorld.items(1, lane: "other"))
            try await stores[1].lane("limited", .setMaxRunning(3))
            for _ in 0..<10 {
                let leased = try await withThrowingTaskGroup(of: [(Int, LeasedItem)].self) { group in
                    for (number, store) in stores.enumerated() {
                        group.addTask {
                            try await store.lease(SharedWorld.request("w\(number)", 2)).items.map { (number, $0) }
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                #expect(leased.count { $0.1.lane == "limited" } == 3)
                for (number, item) in leased { _ = try await stores[number].apply([SharedWorld.delivered(item)]) }
            }
        }

        @Test func `a rate of a lane holds for eight workers that lease at once`() async throws {
            let world = try await SharedWorld()
            let first = try await world.open()
            _ = try await first.enqueue(SharedWorld.items(200, lane: "slow"))
            // At once no more than a twentieth of the rate, and one more each 24 seconds.
            try await first.lane("slow", .setRate(LaneRate(100, per: .seconds(2_300))))
            let leased = try await withThrowingTaskGroup(of: [LeasedItem].self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let store = try await world.open()
                        var leased: [LeasedItem] = []
                        for _ in 0..<5 {
                            let request = SharedWorld.request("w\(number)", 3)
                            leased += try await store.lease(request).items
                        }
                        return leased
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(leased.count == 5)
        }

        @Test func `all times of a new item are those of one reading of the clock`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            // Each reading of this clock is later than the one before.
            try await world.observer.run(PostgresStatement("CREATE SEQUENCE public.ticks"))
            try await world.replaceClock("nextval('public.ticks') * 1000")
            var item = SharedWorld.items(1)[0]
            (item.timeLimit, item.priority) = (50_000, 0)
            _ = try await store.enqueue([item])
            let differences = "SELECT (deadline - created_at) || ' ' || (rank - created_at) FROM waybill.item"
            #expect(try await world.observer.run(PostgresStatement(differences))[0, 0].text == "50000 \(item.rank(0))")
        }

        @Test func `a key that was thought to be new belongs to the item that has it`() async throws {
            let store = try await SharedWorld().open()
            var items = SharedWorld.items(2)
            let first = try await store.enqueue([items[0]])
            for index in items.indices { items[index].isKeyNew = true }
            let both = try await store.enqueue(items)
            #expect(both[0] == first[0] && both[1].isNew && both[1].id != both[0].id)
            #expect(try await store.tally(batch: nil).counts == [.ready: 2])
        }

        @Test(arguments: [-3_600_000, 3_600_000])
        func `a server whose clock differs by an hour changes nothing`(_ difference: Int) async throws {
            let world = try await SharedWorld()
            try await world.replaceClock("\(SharedWorld.clock) + \(difference)")
            let (store, other) = (try await world.open(), try await world.open())
            _ = try await store.enqueue(SharedWorld.items(1))
            let first = try #require(try await store.lease(SharedWorld.request("w")).items.first)
            #expect(try await other.recover(token: "other") == 0)
            let end = ItemChange(first.id, .ended(.transient("status503", delay: 60_000), lease: 1))
            let (applied, leased) = try await store.apply([end], thenLease: SharedWorld.request("w"))
            #expect(applied[0].isAccepted && leased.items.isEmpty)
            let due = try #require(leased.nextDue)
            #expect(due > 0 && due <= 60_000)
            try await world.replaceClock("\(SharedWorld.clock) + \(difference) + 60000")
            #expect(
                try await other.lease(SharedWorld.request("other")).items.map(\.effect) == [
                    .deliver(attempt: 2, lease: 2)
                ])
        }

        @Test func `ends after midnight create the partitions of the day, in any order`() async throws {
            let world = try await SharedWorld()
            let stores = try await [world.open(), world.open(), world.open()]
            _ = try await stores[0].enqueue(SharedWorld.items(30))
            try await world.replaceClock("\(SharedWorld.clock) + 5 * 86400000::bigint")
            let ended = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for (number, store) in stores.enumerated() {
                    group.addTask { try await SharedWorld.deliverAll(store, "w\(number)") }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(ended.count == 30)
            #expect(try await stores[0].results(after: 0, limit: 100).count == 30)
        }

        @Test func `a page of a purge does not read all results`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            try await world.observer.run(
                PostgresStatement(
                    """
                    INSERT INTO waybill.ended(
                        day, seq, ended_at, id, kind, lane, spec, idem_key, max_attempts, on_unknown, on_change, priority, rank,
                        created_at)
                    SELECT waybill.wb_now() / 86400000, n, n, n, '', '', '', n, 1, '', '', 0, 0, 0
                    FROM generate_series(1, 20000) n
                    """))
            let page = PostgresStore.deletePage(before: 4_000_000_000_000, after: .min)
            let explain = PostgresStatement("EXPLAIN \(page[1].sql)", parameters: page[1].parameters)
            let plan = try await store.side.run([page[0], explain])[1].rows.compactMap { $0[0].text }
            #expect(!plan.contains { $0.contains("Sort  (") || $0.contains("Hash Join") }, "\(plan)")
            #expect(try await store.purge(olderThan: .zero) == 20_000)
        }

        @Test func `a purge drops the partitions of whole days`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            let day: Int64 = 86_400_000
            for number in 0..<3 as Range<Int64> {
                try await world.replaceClock("\(number * day + 5)::bigint")
                var items = SharedWorld.items(2)
                items[0].bodies = [StagedBody(name: "b\(number)", bytes: [1])]
                _ = try await store.enqueue(items)
                #expect(try await world.value("SELECT count(*) FROM waybill.body") == 1)
                #expect(try await SharedWorld.deliverAll(store, "w").count == 2)
                #expect(try await world.value("SELECT count(*) FROM waybill.body") == 0)
            }
            let last = try await store.results(after: 0, limit: 9).last?.sequence
            let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'waybill.ended'::regclass"
            let before = try await world.value(partitions)
            #expect(try await store.purge(olderThan: .seconds(86_400)) == 2)
            #expect(try await world.value(partitions) == before - 1)
            #expect(try await store.tally(batch: nil).counts == [.done: 4])
            #expect(try await store.purge(olderThan: .zero) == 2)
            #expect(try await store.mark(OutboxMark.sequence) == last)
        }

        @Test func `a store behind a pooler prepares nothing and listens to nothing`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open {
                $0.usesPooler = true
                $0.pollInterval = .milliseconds(20)
            }
            _ = try await store.enqueue(SharedWorld.items(7))
            var wakeups = store.wakeups.makeAsyncIterator()
            #expect(await wakeups.next() != nil)
            #expect(try await SharedWorld.deliverAll(store, "w").count == 7)
            #expect(
                try await store.main.run(PostgresStatement("SELECT count(*) FROM pg_prepared_statements"))[0, 0]
                    == .int8(0))
            #expect(
                try await store.side.run(PostgresStatement("SELECT count(*) FROM pg_listening_channels()"))[0, 0]
                    == .int8(0))
        }

        @Test func `an item that another machine enqueues wakes a worker without polling`() async throws {
            let world = try await SharedWorld()
            let worker = try await world.open { $0.pollInterval = .seconds(3_600) }
            var wakeups = worker.wakeups.makeAsyncIterator()
            while try await worker.side.run(PostgresStatement("SELECT count(*) FROM pg_listening_channels()"))[0, 0]
                != .int8(1)
            {
                try Task.checkCancellation()
            }
            let other = try await world.open()
            _ = try await other.enqueue(SharedWorld.items(1))
            #expect(await wakeups.next() != nil)
            await worker.close()
            while await wakeups.next() != nil {}
        }

        @Test func `a schema of a newer release, a wrong URL and an absent server are typed errors`() async throws {
            let world = try await SharedWorld()
            try await world.observer.run(
                PostgresStatement("UPDATE waybill.meta SET value = 99 WHERE name IN ('version', 'oldest_version')"))
            let newer = await #expect(throws: OutboxError.self) { _ = try await world.open() }
            #expect(newer?.code == .queueUnusable && newer?.message.contains("version 99") == true)
            let folder = try TemporaryDirectory()
            var options = PostgresOptions()
            options.patience = .zero
            for (url, code) in [
                ("postgresql://u:s3cr3t@/db?host=\(folder.path)", OutboxError.Code.storeUnreachable),
                ("postgresql://u:s3cr3t@h/%zz", .queueUnusable),
                ("postgresql://waybill:s3cr3t@/unknown?host=\(world.database.server.directory)", .queueUnusable),
            ] {
                let error = await #expect(throws: OutboxError.self) {
                    _ = try await PostgresStore(url, options: options)
                }
                #expect(error?.code == code, "\(url)")
                #expect(error.map { "\($0) \(String(reflecting: $0))".contains("s3cr3t") } == false)
            }
        }

        @Test func `a text with the character NUL is refused, and that of a response is replaced`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            var item = SharedWorld.items(1)[0]
            item.batch = "a\0b"
            let error = await #expect(throws: OutboxError.self) { try await store.enqueue([item]) }
            #expect(error?.code == .uploadRefused)
            _ = try await store.enqueue(SharedWorld.items(1))
            let leased = try #require(try await store.lease(SharedWorld.request("w")).items.first)
            var response = StoredResponse()
            (response.status, response.message) = (200, "a\0b")
            response.headers = [OutboxResult.Header(name: "X", value: "c\0d")]
            let end = ItemChange(leased.id, .ended(.refused("e\0f"), lease: 1), response: response)
            #expect(try await store.apply([end])[0].isAccepted)
            let result = try #require(try await store.results(after: 0, limit: 1).first)
            #expect(result.message == "a\u{FFFD}b" && result.headers.first?.value == "c\u{FFFD}d")
            #expect(result.item.reason == "e\u{FFFD}f")
        }
    }
#endif
