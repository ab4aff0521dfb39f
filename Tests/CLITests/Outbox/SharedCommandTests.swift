#if Shared
    import Glibc
    import TestSupport
    import Testing

    /// The command with an outbox in PostgreSQL.
    @Suite(
        .timeLimit(.minutes(3 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct SharedCommandTests {
        @Test func `an upload is queued in one directory and delivered by a worker in another`() async throws {
            let url = try await PostgresServer.shared.makeDatabase().url
            let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
            let queued = try await Tool.run(
                ["post", server.url("/upload"), "-F", "FIELD=hello", "--queue", "--outbox", url])
            #expect(queued.exit == .status(0), "\(queued.errorText)")
            #expect(server.requests.isEmpty)
            let run = try await Tool.run(["outbox", "run", "--until-idle", "--outbox", url])
            #expect(run.exit == .status(0), "\(run.errorText)")
            #expect(server.requests.count == 1)
            let list = try await Tool.run(["outbox", "ls", "--json", "--outbox", url])
            #expect(list.text.contains("\"done\""), "\(list.text)")
        }

        @Test func `a worker reports an outage of the server once, and continues after it`() async throws {
            let database = try await PostgresServer()
            let url = try await database.makeDatabase().url
            let gate = Gate()
            let server = try LoopbackServer(.respond(200).delayed(until: gate))
            func queue() async throws {
                let queued = try await Tool.run([
                    "post", server.url("/upload"), "-F", "A=b", "--queue", "--outbox", url,
                ])
                #expect(queued.exit == .status(0), "\(queued.errorText)")
            }
            try await queue()
            let worker = try Tool.start(["outbox", "run", "--outbox", url])
            _ = try await server.request(0)
            try await database.stop()
            gate.open()
            // A call waits for 10 seconds before it fails.
            let waiting = "waybill: waiting for the outbox: "
            try await worker.waitUntil { $0.errorText.contains(waiting) }
            try await database.start()
            let available = "the outbox is available again\n"
            try await worker.waitUntil { $0.errorText.contains(available) }
            try await queue()
            try await server.waitUntil { $0.requests.count == 2 && $0.requests.allSatisfy(\.isComplete) }
            worker.signal(SIGTERM)
            let end = try await worker.finish()
            #expect(end.exit == .status(143) && end.errorText.ranges(of: waiting).count == 1, "\(end.errorText)")
            #expect(end.errorText.ranges(of: available).count == 1)
            let list = try await Tool.run(["outbox", "ls", "--json", "--outbox", url])
            #expect(list.text.contains("\"done\":2,"), "\(list.text)")
        }

        @Test func `a check names what the server cannot guarantee`() async throws {
            let url = try await PostgresServer.shared.makeDatabase().url
            let server = try LoopbackServer()
            _ = try await Tool.run(["post", server.url("/upload"), "-F", "A=b", "--queue", "--outbox", url])
            let check = try await Tool.run(["outbox", "check", "--outbox", url])
            #expect(
                check.text.contains("queue: intact") && check.text.contains("lag: 1 items are due"), "\(check.text)")
            // The server of the tests has fsync off.
            #expect(check.exit == .status(7) && check.text.contains("durability: fsync is off"), "\(check.text)")
        }
    }
#endif
