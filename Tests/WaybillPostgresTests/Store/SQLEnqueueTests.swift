#if Shared
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// The function `waybill.enqueue` for programs in other languages.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SQLEnqueueTests {
        /// All characters that JSON or a form encodes in a special way.
        private static let text =
            String(String.UnicodeScalarView((1...0x7F).map { Unicode.Scalar($0) })) + "\n\r\né😀\u{2028}"

        @Test(arguments: [16_384, 16_385])
        func `enqueue inserts what Swift inserts, and the server receives the same bytes`(size: Int) async throws {
            let world = try await SharedWorld()
            let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
            let image = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            try await world.observer.run(
                PostgresStatement(
                    """
                    SELECT * FROM waybill.enqueue($1, jsonb_build_array(jsonb_build_object('B', $2::text), '{"A": [1, true]}'::jsonb),
                        ARRAY[waybill.file('F"\n', $3, 'é".JPG'), waybill.file('G', 'abc', 'a.b/c', 'x/y'),
                            waybill.file('H', '')],
                        headers => '[{"X-B": "1\\t2"}, {"X-A": ""}]', credential => 'c', credential_field => 'X-Key',
                        idempotency_window => '1 day', deduplication_key => 'k', priority => 3, batch => 'b',
                        tags => '{t,"u v"}', deadline => '90 s', max_attempts => 4, on_unknown => 'ask')
                    """, .text(server.url("/up?a=%C3%A9")), .text(Self.text), .bytea(image)))
            let spec = try await world.text("SELECT spec FROM waybill.item")
            let boundary = try #require(spec.firstMatch(of: /"boundary":"([^"]*)"/)).1
            let form = MultipartForm([
                .text("B", Self.text), .text("A", "1"), .text("A", "true"), .data("F\"\n", image, fileName: "é\".JPG"),
                .data("G", Array("abc".utf8), fileName: "a.b/c", contentType: "x/y"), .data("H", []),
            ])
            let upload = try await DurableForm(
                form, to: server.url("/up?a=%C3%A9"), headers: [.init("X-B")!: "1\t2", .init("X-A")!: ""],
                credential: .field(.init("X-Key")!, named: "c"), idempotency: .honoured(window: .seconds(86_400)),
                boundary: try MultipartBoundary(String(boundary)))
            var options = EnqueueOptions()
            (options.deduplicationKey, options.duplicates, options.batch) = ("k", .append, "b")
            (options.tags, options.maxAttempts, options.onUnknown) = (["t", "u v"], 4, .ask)
            (options.priority, options.deadline) = (.high, .seconds(90))
            var configuration = Outbox.Configuration()
            configuration.store = try .postgres(world.database.url)
            configuration.credentials = CredentialTable { _ in .secret("s3") }
            let outbox = try await Outbox(configuration: configuration)
            try await outbox.enqueue(upload, options: options)

            // Besides IDs, keys and exact times. Swift inserts an item with a deduplication key, and then updates it.
            let rows = try await world.texts(
                """
                SELECT (to_jsonb(i) - '{id,idem_key,spec,created_at,rank,deadline,rev,after,priority}'::text[]
                    || jsonb_build_object('rank', rank - created_at - priority * 300000, 'deadline', round((deadline - created_at) / 3e4),
                        'spec', regexp_replace(spec, 'inline/[^"]*', '', 'g'),
                        'bodies', (SELECT array_agg(bytes) FROM waybill.body b WHERE b.item = i.id)))::text
                FROM waybill.item i ORDER BY id
                """)
            #expect(rows.count == 2 && rows[0] == rows[1], "\(rows)")
            try await outbox.runUntilIdle(session: UploadSession())
            let requests = server.requests
            #expect(requests.count == 2 && requests[0].body == requests[1].body && requests[0].body.count > size)
            #expect(requests.map { $0.value(of: "X-Key") } == ["s3", "s3"])
            #expect(try await world.value("SELECT count(*) FROM waybill.ended WHERE state = 5") == 2)
            #expect(try await world.value("SELECT count(*) FROM waybill.body") == 0)
            await outbox.close()
        }

        @Test(arguments: [
            ("NULL", "WB001"), ("''", "WB001"), ("'b/up'", "WB001"), ("'ftp://b'", "WB001"),
            ("'http://b/a b'", "WB001"),
            ("'http://b/%2'", "WB001"), ("'http://b/#f'", "WB001"), ("'http:///p'", "WB001"),
            ("'http://b:0/'", "WB001"),
            ("'http://b:65536/'", "WB001"), ("'http://[::1/'", "WB001"), ("'http://b/é'", "WB001"),
            ("'http://u:p@b/'", "WB003"), ("'http://b/' || repeat('a', 8192)", "WB001"), ("'http://b', '[1]'", "WB001"),
            ("'http://b', '{'", "22P02"), ("'http://b', '{\"a\": \"\\u0000\"}'", "22P05"), ("1", "42883"),
            ("'http://b', '{\"a\": null}'", "WB001"), ("'http://b', '{\"a\": {\"b\": 1}}'", "WB001"),
            ("'http://b', '{\"\": 1}'", "WB001"), ("'http://b', '{\"a\": [[]]}'", "WB001"),
            ("'http://b', jsonb_build_object(repeat('n', 1001), 1)", "WB001"),
            ("'http://b', jsonb_build_object('a', repeat('n', 2000000))", "WB002"),
            ("'http://b', files => ARRAY[waybill.file('a', NULL)]", "WB001"),
            ("'http://b', files => ARRAY[NULL::waybill.form_file]", "WB001"),
            ("'http://b', files => ARRAY[waybill.file('a', '', '')]", "WB001"),
            ("'http://b', files => ARRAY[waybill.file('a', '', 'f', E'x\\n')]", "WB001"),
            (
                "'http://b', files => array_fill(waybill.file('a', decode(repeat('ab', 16384), 'hex')), ARRAY[500])",
                "WB002"
            ),
            ("'http://b', files => ARRAY[waybill.file('a', decode(repeat('ab', 1048577), 'hex'))]", "WB002"),
            ("'http://b', method => 'post'", "WB001"), ("'http://b', headers => '{\"A b\": \"\"}'", "WB001"),
            ("'http://b', headers => '{\"A\": \"x\\r\\nB: y\"}'", "WB001"),
            ("'http://b', headers => '{\"A\": \" x\"}'", "WB001"),
            ("'http://b', headers => '{\"host\": \"x\"}'", "WB001"),
            ("'http://b', headers => '{\"AUTHORIZATION\": \"x\"}'", "WB003"),
            ("'http://b', credential_field => 'X'", "WB001"), ("'http://b', credential => ''", "WB001"),
            ("'http://b', credential => 'c', credential_field => 'X Y'", "WB001"),
            ("'http://b', idempotency_key => 'a b'", "WB001"),
            ("'http://b', idempotency_key => repeat('a', 256)", "WB001"),
            ("'http://b', idempotency_window => '-1 s'", "WB001"), ("'http://b', deduplication_key => ''", "WB001"),
            ("'http://b', duplicates => 'both'", "WB001"), ("'http://b', lane => ''", "WB001"),
            ("'http://b', lane => repeat('l', 1001)", "WB001"), ("'http://b', priority => 10", "WB001"),
            ("'http://b', tags => '{a,NULL}'", "WB001"), ("'http://b', deadline => '0'", "WB001"),
            ("'http://b', delay => '-1 s'", "WB001"), ("'http://b', delay => '1000000 years'", "WB001"),
            ("'http://b', deduplication_period => '1 day'", "WB001"),
            ("'http://b', deduplication_key => 'k', deduplication_period => '0'", "WB001"),
            ("'http://b', max_attempts => 0", "WB001"), ("'http://b', on_unknown => 'x'", "WB001"),
        ])
        func `bad input is an error with a code and a remedy, and inserts nothing`(
            arguments: String, code: String
        ) async throws {
            let world = try await SharedWorld()
            let error = await #expect(throws: PostgresError.self) {
                try await world.observer.run(PostgresStatement("SELECT * FROM waybill.enqueue(\(arguments))"))
            }
            #expect(error?.sqlState == code, "\(String(describing: error))")
            #expect(!code.hasPrefix("WB") || error?.message.hasSuffix(".") == true)
            #expect(
                try await world.value(
                    """
                    SELECT (SELECT count(*) FROM waybill.item) + (SELECT count(*) FROM waybill.body)
                        + (SELECT count(*) FROM waybill.lane)
                    """) == 0)
        }

        @Test func `extreme values are accepted`() async throws {
            let world = try await SharedWorld()
            for arguments in [
                "'HTTP://B:00080', deadline => '170000000 years', idempotency_window => '170000000 years'",
                "'http://b:80/', deadline => NULL, fields => NULL, files => NULL, method => NULL, headers => NULL",
                "'http://b', files => ARRAY[waybill.file('a', decode(repeat('ab', 1048576), 'hex'))], tags => NULL",
            ] {
                try await world.observer.run(PostgresStatement("SELECT * FROM waybill.enqueue(\(arguments))"))
            }
            #expect(try await world.texts("SELECT name FROM waybill.lane") == ["b:80"])
            #expect(try await world.value("SELECT count(*) FROM waybill.item WHERE deadline IS NULL") == 1)
            let store = try await world.open()
            #expect(try await store.lease(SharedWorld.request("w")).items.count == 3)
        }

        @Test(arguments: ["idempotency_key", "deduplication_key"])
        func `concurrent enqueues with one key insert one item`(key: String) async throws {
            let world = try await SharedWorld()
            let results = try await withThrowingTaskGroup(of: [PostgresValue].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let connection = try world.database.connect()
                        defer { Task { await connection.close() } }
                        return try await connection.run(
                            PostgresStatement("SELECT * FROM waybill.enqueue('http://b', \(key) => 'k')")
                        ).rows[0]
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(results.map { $0[0] }).count == 1 && results.count { $0[1] == .bool(true) } == 1)
            #expect(try await world.value("SELECT count(*) FROM waybill.item") == 1)
        }

        @Test func `a delay and a reserved key are those of Swift`() async throws {
            let world = try await SharedWorld()
            try await world.replaceClock("1000000::bigint")
            let store = try await world.open()
            let item = NewItem(
                kind: "form", lane: "b:80", spec: "", deduplicationKey: "a", idempotencyKey: "a", timeLimit: 90_000,
                delay: 60_000, keyPeriod: 5_000)
            _ = try await store.enqueue([item])
            try await world.observer.run(
                PostgresStatement(
                    """
                    SELECT * FROM waybill.enqueue('http://b', delay => '1 min', deadline => '90 s',
                        deduplication_key => 'b', deduplication_period => '5 s')
                    """))
            let rows = try await world.texts(
                "SELECT concat_ws(' ', state, not_before, deadline, rank, key_period) FROM waybill.item ORDER BY id")
            #expect(rows.count == 2 && rows[0] == rows[1], "\(rows)")
            #expect(try await store.lease(SharedWorld.request("w")).items.isEmpty)
            try await world.replaceClock("1060000::bigint")
            #expect(try await store.lease(SharedWorld.request("w")).items.count == 2)
        }

        @Test func `a key that a delivered item reserves is kept, and others are enqueued`() async throws {
            let world = try await SharedWorld()
            let store = try await world.open()
            var items = SharedWorld.items(1)
            items[0].deduplicationKey = "k"
            items[0].keyPeriod = 60_000
            let first = try await store.enqueue(items)[0].id
            #expect(try await SharedWorld.deliverAll(store, "w") == [first])
            let enqueue = "FROM waybill.enqueue('https://a.example/', deduplication_key => 'k')"
            #expect(try await world.value("SELECT id \(enqueue) WHERE NOT is_new") == first)
            #expect(try await world.value("SELECT count(*) FROM waybill.item") == 0)
            try await world.replaceClock("\(SharedWorld.clock) + 60001")
            #expect(try await world.value("SELECT count(*) \(enqueue) WHERE is_new") == 1)
        }

        @Test func `a role with one grant can enqueue, and nothing else`() async throws {
            let world = try await SharedWorld()
            // Roles belong to the server of all tests.
            let role = "app_\(world.database.name)"
            for sql in [
                "CREATE ROLE \(role)", "GRANT USAGE ON SCHEMA waybill TO \(role)",
                "GRANT EXECUTE ON FUNCTION waybill.enqueue TO \(role)", "SET ROLE \(role)",
                "SELECT * FROM waybill.enqueue('http://b', '{}', ARRAY[waybill.file('a', 'b')], deduplication_key => 'k')",
                "SELECT * FROM waybill.enqueue('http://b', deduplication_key => 'k', duplicates => 'replace')",
            ] { try await world.observer.run(PostgresStatement(sql)) }
            let functions = try await world.texts(
                """
                SELECT proname FROM pg_proc WHERE pronamespace = 'waybill'::regnamespace AND prosecdef
                    AND has_function_privilege(oid, 'EXECUTE')
                """)
            #expect(functions == ["enqueue"])
            for sql in [
                "SELECT * FROM waybill.item", "SELECT * FROM waybill.items", "DELETE FROM waybill.item",
                "INSERT INTO waybill.lane(name) VALUES ('a')", "UPDATE waybill.meta SET value = 0",
                "SELECT waybill.cancel(1)", "SELECT waybill.state(1)", "SELECT waybill.results()",
                "SELECT waybill.wb_cancel('{1}')", "SELECT waybill.wb_find('k')", "SELECT waybill.wb_make_partition(1)",
                "CREATE TABLE waybill.t(a int)",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(sql)") {
                    try await world.observer.run(PostgresStatement(sql))
                }
                #expect(error?.sqlState == "42501", "\(sql)")
            }
        }

        @Test func `objects of the caller's schemas are not used`() async throws {
            let world = try await SharedWorld()
            for sql in [
                "CREATE FUNCTION public.octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0'",
                "CREATE TEMPORARY TABLE item(id int)", "SET search_path = public, pg_catalog",
                "SET standard_conforming_strings = off",
                "SELECT * FROM waybill.enqueue('http://b', '{\"a\": \"\\n\"}')",
            ] { try await world.observer.run(PostgresStatement(sql.replacing("\\n", with: "\\\\n"))) }
            #expect(try await world.value("SELECT count(*) FROM waybill.item") == 1)
        }

        @Test func `an item that is enqueued by SQL wakes a worker`() async throws {
            let world = try await SharedWorld()
            let worker = try await world.open { $0.pollInterval = .seconds(3_600) }
            var wakeups = worker.wakeups.makeAsyncIterator()
            while try await worker.side.run(PostgresStatement("SELECT count(*) FROM pg_listening_channels()"))[0, 0]
                != .int8(1)
            {
                try Task.checkCancellation()
            }
            try await world.observer.run(PostgresStatement("SELECT * FROM waybill.enqueue('http://b')"))
            #expect(await wakeups.next() != nil)
            await worker.close()
        }

        @Test func `an enqueue is rolled back with the transaction of its caller`() async throws {
            let world = try await SharedWorld()
            await #expect(throws: PostgresError.self) {
                try await world.observer.run([
                    PostgresStatement("SELECT * FROM waybill.enqueue('http://b')"), PostgresStatement("SELECT 1 / 0"),
                ])
            }
            #expect(try await world.value("SELECT count(*) FROM waybill.item") == 0)
        }
    }
#endif
