#if Shared
    import TestSupport
    import Waybill
    import WaybillCore

    @testable import WaybillOutbox
    @testable import WaybillPostgres

    /// A database with several stores, as several machines have them.
    struct SharedWorld: Sendable {
        let database: PostgresDatabase
        /// A connection beside the stores.
        let observer: PostgresConnection
        static let leaseDuration = Duration.seconds(60)

        init(_ server: PostgresServer? = nil) async throws {
            if let server {
                database = try await server.makeDatabase()
            } else {
                database = try await PostgresServer.shared.makeDatabase()
            }
            observer = try database.connect()
            try await SharedSchema.prepare(observer)
        }

        /// Opens a store.
        func open(
            by proxy: CuttingProxy? = nil, _ change: (inout PostgresOptions) -> Void = { _ in }
        ) async throws -> PostgresStore {
            var options = PostgresOptions()
            options.leaseDuration = Self.leaseDuration
            // Other tests use the same server, and their transactions are older.
            options.resultPatience = .seconds(60)
            options.patience = .seconds(120)
            change(&options)
            return try await PostgresStore(proxy.map { database.url(by: $0) } ?? database.url, options: options)
        }

        /// Replaces the clock of the server by an expression.
        func replaceClock(_ expression: String) async throws {
            try await observer.run(
                PostgresStatement(
                    """
                    CREATE OR REPLACE FUNCTION waybill.wb_now() RETURNS bigint LANGUAGE sql VOLATILE AS
                    $$ SELECT \(expression) $$
                    """))
        }

        static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

        func value(_ sql: String) async throws -> Int64 {
            try await observer.run(PostgresStatement(sql))[0, 0].integer ?? -1
        }

        static func items(_ count: Int, lane: String = "h:80") -> [NewItem] {
            (0..<count).map {
                NewItem(kind: "test", lane: lane, spec: "\($0)", idempotencyKey: Delivery.newIdempotencyKey())
            }
        }

        static func request(_ token: String, _ slots: Int = 10) -> LeaseRequest {
            LeaseRequest(token: token, slots: slots, slotsPerLane: slots)
        }

        static func delivered(_ item: LeasedItem) -> ItemChange {
            ItemChange(
                item.id, .ended(.delivered, lease: item.life.leaseNumber), lane: .responded, response: StoredResponse())
        }

        /// Leases and delivers items until none is left, as a worker does.
        ///
        /// - Returns: The items whose end was accepted.
        static func deliverAll(_ store: PostgresStore, _ token: String, slots: Int = 5) async throws -> [Int64] {
            var ended: [Int64] = []
            var leased = try await store.lease(request(token, slots)).items
            while !leased.isEmpty {
                let ends = leased.map(delivered)
                let (applied, next) = try await store.apply(ends, thenLease: request(token, slots))
                ended += zip(ends, applied).filter(\.1.isAccepted).map(\.0.id)
                leased = next.items
            }
            return ended
        }
    }
#endif
