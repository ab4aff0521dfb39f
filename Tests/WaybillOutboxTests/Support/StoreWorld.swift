import FoundationEssentials
import GRDB
import TestSupport
import Waybill
import WaybillCore

@testable import WaybillOutbox

#if Shared
    import WaybillPostgres
#endif

/// The stores that one suite tests by the same rules.
enum StoreKind: Sendable {
    case memory, disk
    /// A store of several machines in memory, whose leases end unless their worker renews them.
    case shared
    case postgres
    /// PostgreSQL behind PgBouncer in transaction mode.
    case pooled

    static var allCases: [StoreKind] { [.memory, .disk] + withLeaseDuration }

    /// The stores of several machines.
    static var withLeaseDuration: [StoreKind] {
        #if Shared
            [.shared] + (PostgresServer.isExpected ? [.postgres] : []) + (PgBouncer.isExpected ? [.pooled] : [])
        #else
            [.shared]
        #endif
    }
}

/// A store of any kind, with helpers for tests.
final class StoreWorld: Sendable {
    let store: any OutboxStore
    /// The clock of the store.
    private let clock: Watched<Int64>
    private let kind: StoreKind
    private let directory: TemporaryDirectory?
    #if Shared
        private let database: PostgresDatabase?
        /// Sets the clock of the database.
        private let clockConnection: PostgresConnection?
    #endif
    static let token = "this run"
    /// The time after which leases of a store of several machines end.
    static let leaseDuration = Duration.seconds(60)

    convenience init(_ kind: StoreKind) async throws {
        let clock = Watched<Int64>(0)
        switch kind {
        case .memory: self.init(kind, clock, MemoryStore(now: { clock.value }))
        case .shared:
            self.init(kind, clock, MemoryStore(leaseDuration: Self.leaseDuration, now: { clock.value }))
        case .disk: try self.init(clock, copying: nil)
        case .postgres, .pooled:
            #if Shared
                try await self.init(kind, clock, PostgresServer.shared.makeDatabase(), isNew: true)
            #else
                fatalError("The trait Shared is disabled.")
            #endif
        }
    }

    private init(_ kind: StoreKind, _ clock: Watched<Int64>, _ store: any OutboxStore) {
        (self.kind, self.clock, self.store, directory) = (kind, clock, store, nil)
        #if Shared
            (database, clockConnection) = (nil, nil)
        #endif
    }

    /// A store on disk, with the files of another one as they are now.
    private init(_ clock: Watched<Int64>, copying other: TemporaryDirectory?) throws {
        let directory = try TemporaryDirectory()
        for name in ["queue.db", "queue.db-wal"] {
            if let other { try directory.write(name, other.read(name)) }
        }
        kind = .disk
        self.clock = clock
        self.directory = directory
        #if Shared
            (database, clockConnection) = (nil, nil)
        #endif
        store = try SQLiteStore(path: directory.path("queue.db"), now: { clock.value })
    }

    #if Shared
        /// A store in a database, with the connections of another process.
        private init(
            _ kind: StoreKind, _ clock: Watched<Int64>, _ database: PostgresDatabase, isNew: Bool
        ) async throws {
            (self.kind, self.clock, directory, self.database) = (kind, clock, nil, database)
            let connection = try PostgresConnection(PostgresConfiguration(PostgresAddress(database.url)))
            clockConnection = connection
            if isNew { try await Self.replaceClock(connection) }
            var options = PostgresOptions()
            options.leaseDuration = Self.leaseDuration
            // Other tests use the same server, and their transactions are older.
            options.resultPatience = .seconds(60)
            options.usesPooler = kind == .pooled
            let url = kind == .pooled ? try await PgBouncer.shared.url(database) : database.url
            store = try await PostgresStore(url, options: options)
        }

        /// Replaces the clock of the server by a row.
        private static func replaceClock(_ connection: PostgresConnection) async throws {
            try await SharedSchema.prepare(connection)
            try await connection.run([
                PostgresStatement("INSERT INTO waybill.meta VALUES ('now', 0)"),
                PostgresStatement(
                    """
                    CREATE OR REPLACE FUNCTION waybill.wb_now() RETURNS bigint LANGUAGE sql VOLATILE AS
                    $$ SELECT value FROM waybill.meta WHERE name = 'now' $$
                    """),
            ])
        }
    #endif

    /// Returns the store as it is after a crash of all workers, and of the store unless it is on another machine.
    func crashed() async throws -> StoreWorld {
        switch kind {
        case .disk: return try StoreWorld(clock, copying: directory)
        case .memory, .shared: return self
        case .postgres, .pooled:
            #if Shared
                if let database { return try await StoreWorld(kind, clock, database, isNew: false) }
            #endif
            return self
        }
    }

    /// Ends the leases of all other workers, as the next run or another machine does when those workers are gone.
    func recover(as token: String) async throws -> Int {
        let hasLeaseDuration = StoreKind.withLeaseDuration.contains(kind)
        let next = clock.value + (hasLeaseDuration ? Self.leaseDuration.milliseconds : 0)
        return try await at(next).recover(token: token)
    }

    func renew(_ leases: [HeldLease], as token: String = StoreWorld.token) async throws -> [LeaseStatus] {
        try await store.renew(leases, token: token)
    }

    /// Everything that the store reports, as text.
    func snapshot() async throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        var lines: [String] = []
        for item in try await store.items(.all, after: 0, limit: 1_000) {
            let detail = try await store.detail(item.id.rawValue)
            lines.append(String(decoding: try encoder.encode(detail), as: UTF8.self))
        }
        let results = try await store.results(after: 0, limit: 1_000)
        lines.append(String(decoding: try encoder.encode(results), as: UTF8.self))
        lines.append(String(decoding: try encoder.encode(try await store.lanes()), as: UTF8.self))
        let tally = try await store.tally(batch: nil)
        lines += OutboxState.allCases.map { "\($0) \(tally[$0]) \(tally.bytes[$0] ?? 0)" }
        lines.append("reader \(try await store.mark("reader")), last \(try await store.mark(OutboxMark.sequence))")
        lines.append("staged \(try await store.stagedInUse(["f"]))")
        return lines
    }

    /// Sets the clock of the store and returns the store.
    func at(_ now: Int64) async throws -> any OutboxStore {
        clock.update { $0 = now }
        #if Shared
            try await clockConnection?.run(
                PostgresStatement("UPDATE waybill.meta SET value = $1 WHERE name = 'now'", .int8(now)))
        #endif
        return store
    }

    /// An item with a text as its spec.
    static func item(
        _ name: String = "a", lane: String = "h:80", key: String? = nil, duplicates: DuplicatePolicy = .keep,
        priority: Int = 5, batch: String? = nil, tags: [String] = [], size: Int64? = 10, life: ItemLife = ItemLife(),
        staged: [String] = []
    ) -> NewItem {
        NewItem(
            kind: "test", lane: lane, spec: name, life: life, priority: priority, batch: batch, tags: tags,
            deduplicationKey: key, duplicates: duplicates, idempotencyKey: Delivery.newIdempotencyKey(), size: size,
            staged: staged)
    }

    func add(_ items: NewItem..., now: Int64 = 0) async throws -> [Int64] {
        try await at(now).enqueue(items).map(\.id)
    }

    func lease(
        _ slots: Int = 100, perLane: Int = 100, running: [String: Int] = [:], now: Int64 = 1_000
    ) async throws -> [LeasedItem] {
        try await at(now).lease(
            LeaseRequest(token: Self.token, slots: slots, slotsPerLane: perLane, running: running)
        ).items
    }

    @discardableResult
    func end(_ item: LeasedItem, _ ending: ItemLife.Ending, now: Int64 = 2_000) async throws -> AppliedChange {
        try await at(now).apply([ItemChange(item.id, .ended(ending, lease: item.life.leaseNumber))])[0]
    }

    func item(_ id: Int64) async throws -> OutboxItem? {
        try await store.items(.item(OutboxID(rawValue: id)), after: 0, limit: 1).first
    }

    func states() async throws -> [OutboxState] {
        try await store.items(.all, after: 0, limit: 1_000).map(\.state)
    }
}

extension LeasedItem {
    var held: HeldLease { HeldLease(item: id, number: life.leaseNumber) }
}

extension SQLiteStore {
    /// Changes the limit on the file's size, for tests of full disks.
    func limit(pages: Int) async throws(OutboxError) {
        try await group.perform { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    /// Writes the log into the file and releases all pages in memory, for tests of damaged files.
    func releasePages() async throws(OutboxError) {
        let queue = group.queue
        try await BlockingThread.run { () throws(OutboxError) in
            do {
                try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
                queue.releaseMemory()
            } catch {
                throw OutboxError(storage: error)
            }
        }
    }
}
