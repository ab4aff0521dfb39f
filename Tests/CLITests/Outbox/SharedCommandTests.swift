#if Shared
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
