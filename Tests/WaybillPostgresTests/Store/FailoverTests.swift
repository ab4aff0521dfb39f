#if Shared
    import Glibc
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// A standby that takes over from the primary server while items are enqueued and delivered.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct FailoverTests {
        private static let count = 240

        @Test func `after a failover to a synchronous standby all acknowledged items end once, and workers continue`()
            async throws
        {
            var random = SeededGenerator()
            let primary = try await PostgresServer()
            let database = try await primary.makeDatabase()
            let standby = try await primary.makeStandby()
            let observer = try database.connect()
            try await waitForStandby(observer)
            let hosts = [standby.directory, primary.directory]
            let urls = [hosts, hosts.reversed()].map {
                "postgresql://waybill@/\(database.name)?host=\($0.joined(separator: ","))&target_session_attrs=read-write"
            }
            let receiver = try VerifyingServer(honoursKeys: true, faults: 0, outOf: Self.count, using: &random)
            let results = Watched<Set<OutboxID>>([])
            let outboxes = try await withThrowingTaskGroup { group in
                for url in urls { group.addTask { try await open(url, results) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let workers = outboxes.map { outbox in Task { try await outbox.run() } }
            let acknowledged = Watched<Set<OutboxID>>([])
            let producers = outboxes.enumerated().map { index, outbox in
                let numbers = stride(from: index, to: Self.count, by: outboxes.count)
                return Task { try await enqueue(numbers, outbox, receiver, acknowledged) }
            }
            let early = Int.random(in: 1...Self.count / 2, using: &random)
            try await acknowledged.waitUntil { $0.count >= early }
            try await losePrimary(primary, observer)
            #expect(acknowledged.value.count < Self.count)
            try await standby.promote()
            for producer in producers { try await producer.value }
            try await results.waitUntil { $0.count == Self.count }
            for worker in workers { worker.cancel() }
            for worker in workers { try await worker.value }

            #expect(results.value == acknowledged.value)
            #expect(try await outboxes[0].tally().counts == [.done: Self.count])
            let successor = try PostgresConnection(PostgresConfiguration(try PostgresAddress(urls[0])))
            let ended = try await successor.run(
                PostgresStatement("SELECT count(*), count(DISTINCT id) FROM waybill.ended"))
            #expect(ended.rows == [[.int8(Int64(Self.count)), .int8(Int64(Self.count))]])
            let accounts = receiver.accounts
            #expect(accounts.count == Self.count && accounts.values.allSatisfy { $0.effects == 1 })
            for outbox in outboxes { await outbox.close() }
        }

        /// Makes each commit of the primary server wait until the standby has it.
        private func waitForStandby(_ observer: PostgresConnection) async throws {
            try await observer.run(PostgresStatement("ALTER SYSTEM SET synchronous_standby_names = '*'"))
            try await observer.run(PostgresStatement("SELECT pg_reload_conf()"))
            try await until(
                """
                SELECT current_setting('synchronous_standby_names') = '*'
                    AND EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')
                """, observer)
            // The checkpointer is the process that announces the setting to all others.
            try await observer.run(PostgresStatement("CHECKPOINT"))
        }

        /// Ends the primary server when it has a commit that the standby has not received.
        private func losePrimary(_ primary: PostgresServer, _ observer: PostgresConnection) async throws {
            let sender = try await observer.run(PostgresStatement("SELECT pid::int8 FROM pg_stat_replication"))
            let number = Int(try #require(sender[0, 0].integer))
            primary.signal(SIGSTOP, backend: number)
            try await until(
                """
                SELECT EXISTS (SELECT FROM pg_stat_activity
                    WHERE wait_event = 'SyncRep' AND application_name LIKE 'waybill/%')
                """, observer)
            // A stopped process would delay the end of the server by five seconds.
            primary.signal(SIGKILL, backend: number)
            try await primary.stop()
        }

        private func until(_ condition: String, _ observer: PostgresConnection) async throws {
            while try await observer.run(PostgresStatement(condition)).rows.first?.first?.bool != true {
                _ = try await observer.run(PostgresStatement("SELECT pg_sleep(0.01)"))
            }
        }

        private func open(_ url: String, _ results: Watched<Set<OutboxID>>) async throws -> Outbox {
            var options = PostgresOptions()
            options.patience = .seconds(120)
            var configuration = Outbox.Configuration()
            configuration.store = try .postgres(url, options: options)
            configuration.onResult = { result in results.update { _ = $0.insert(result.item.id) } }
            return try await Outbox(configuration: configuration)
        }

        private func enqueue(
            _ numbers: StrideTo<Int>, _ outbox: Outbox, _ receiver: VerifyingServer,
            _ acknowledged: Watched<Set<OutboxID>>
        ) async throws {
            for number in numbers {
                let receipt = try await outbox.enqueue(
                    [.text("ITEM", "item-\(number)-")], to: receiver.server.url("/upload"),
                    idempotency: .honoured(window: .seconds(86_400)))
                acknowledged.update { _ = $0.insert(receipt.id) }
            }
        }
    }
#endif
