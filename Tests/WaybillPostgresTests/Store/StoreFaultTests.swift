#if Shared
    import Glibc
    import TestSupport
    import Testing
    import Waybill

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// Lost connections, killed backends and restarts of the server during the calls of a store.
    @Suite(
        .timeLimit(.minutes(8 * Slowness.factor)), .enabled(if: PostgresServer.isExpected, "\(PostgresServer.remedy)"))
    struct StoreFaultTests {
        /// The calls of one item's life, each on the main connection of the store.
        private static let calls: [@Sendable (PostgresStore, inout [LeasedItem]) async throws -> Void] = [
            { store, _ in _ = try await store.enqueue(SharedWorld.items(1)) },
            { store, leased in leased = try await store.lease(SharedWorld.request("w")).items },
            { store, leased in
                #expect(leased.count == 1)
                let change = ItemChange(leased[0].id, .progressed(lease: leased[0].life.leaseNumber), resume: [1])
                let applied = try await store.apply([change])
                #expect(applied.map(\.isAccepted) == [true])
            },
            { store, leased in
                let (applied, next) = try await store.apply(
                    leased.map(SharedWorld.delivered), thenLease: SharedWorld.request("w"))
                #expect(applied.map(\.isAccepted) == [true] && next.items.isEmpty)
            },
        ]

        @Test func `a response that is cut at any byte loses nothing and changes nothing twice`() async throws {
            // The first bytes connect: see `ConnectionFaultTests`.
            let bounds = try await measure()
            // The bytes of the response to a commit with an end and a lease, and some of the others: each time a third.
            var random = SeededGenerator()
            let all = Array(stride(from: bounds[0], to: bounds[3], by: 23)) + Array(bounds[3]..<bounds[4])
            let cuts = all.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
            #expect(all.count > 200 && cuts.count > 30)
            let lanes = 8
            try await withThrowingTaskGroup { group in
                for lane in 0..<lanes {
                    let own = stride(from: lane, to: cuts.count, by: lanes).map { cuts[$0] }
                    group.addTask { try await run(own) }
                }
                try await group.waitForAll()
            }
        }

        /// Returns the numbers of bytes that the main connection has received before the first call, and after each.
        private func measure() async throws -> [Int] {
            let world = try await SharedWorld()
            let proxy = try CuttingProxy(to: world.database.server.socket)
            let store = try await world.open(by: proxy) { $0.notifies = false }
            let start = proxy.counts.value.responseBytes
            _ = try await store.renew([], token: "w")
            var bounds = [proxy.counts.value.responseBytes - start]
            var leased: [LeasedItem] = []
            for call in Self.calls {
                try await call(store, &leased)
                bounds.append(proxy.counts.value.responseBytes - start)
            }
            return bounds
        }

        private func run(_ cuts: [Int]) async throws {
            let world = try await SharedWorld()
            let proxy = try CuttingProxy(to: world.database.server.socket)
            var count = 0
            for cut in cuts {
                try Task.checkCancellation()
                proxy.cut(.never)
                let store = try await world.open(by: proxy) { $0.notifies = false }
                // Only the next connection, the main one of the store, is cut.
                let accepted = proxy.counts.value.accepted
                proxy.cut(.response(cut))
                proxy.counts.once({ $0.accepted > accepted }, { proxy.cut(.never) })
                _ = try await store.renew([], token: "w")
                var leased: [LeasedItem] = []
                for call in Self.calls { try await call(store, &leased) }
                count += 1
                let tally = try await store.tally(batch: nil)
                try #require(tally.counts == [.done: count], "cut after \(cut) bytes")
                await store.close()
            }
            #expect(try await world.value("SELECT max(lease_no) FROM waybill.ended") == 1)
            #expect(try await world.value("SELECT count(DISTINCT id) FROM waybill.ended") == Int64(count))
        }

        @Test func `killed backends and a restart of the server lose no item and end none twice`() async throws {
            let server = try await PostgresServer()
            let world = try await SharedWorld(server)
            let (count, workers) = (300, 4)
            let first = try await world.open()
            for _ in 0..<10 { _ = try await first.enqueue(SharedWorld.items(count / 10)) }
            let accepted = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for worker in 0..<workers {
                    group.addTask {
                        try await SharedWorld.deliverAll(try await world.open(), "w\(worker)", slots: 2)
                    }
                }
                group.addTask {
                    try await disturb(world, server)
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(accepted.count == count && Set(accepted).count == count)
            #expect(try await first.tally(batch: nil).counts == [.done: count])
            #expect(try await first.checkIntegrity() == "ok")
        }

        /// Ends backends one by one, then crashes one, then restarts the server.
        private func disturb(_ world: SharedWorld, _ server: PostgresServer) async throws {
            for signal in [SIGTERM, SIGTERM, SIGTERM, SIGKILL, SIGTERM] {
                let backends = """
                    SELECT pid::bigint FROM pg_stat_activity
                    WHERE application_name LIKE 'waybill/%' AND state = 'active' ORDER BY random() LIMIT 1
                    """
                while true {
                    let found = try? await world.observer.run(PostgresStatement(backends)).rows.first?[0].integer
                    if let backend = found ?? nil {
                        server.signal(signal, backend: Int(backend))
                        break
                    }
                    if (try? await world.value("SELECT count(*) FROM waybill.item")) == 0 { return }
                }
            }
            try await server.restart()
        }
    }
#endif
