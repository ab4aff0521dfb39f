import Dispatch
import GRDB
import GRDBSQLite
import Glibc
import WaybillCore

/// A store of items in an SQLite file.
///
/// The effect of a call survives a power failure.
///
/// All access uses one connection: releases of SQLite before 3.51.3 can damage a file in WAL mode when one connection
/// writes while another checkpoints (https://www.sqlite.org/wal.html#walresetbug). The process that opens a store must
/// hold the lock of the outbox.
package final class SQLiteStore: OutboxStore {
    let group: WriteGroup
    package let executor: (any TaskExecutor)?
    /// None: the lock of the outbox ends with the process.
    package var leaseDuration: Duration? { nil }
    /// Finished: only the process with the lock of the outbox opens the file.
    package var wakeups: AsyncStream<Void> { AsyncStream { $0.finish() } }
    private let path: String
    private let leased = LeasedRows()
    private let now: @Sendable () -> Int64

    /// The durability of a commit.
    package enum Synchronous: String, Sendable {
        /// A commit survives a power failure.
        case full = "FULL"
        /// A commit survives the end of the process. For tests that must fail.
        case normal = "NORMAL"
    }

    /// Opens a file, creating it if necessary.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - synchronous: The durability; use the default except in tests.
    ///   - now: The clock, in milliseconds since 1970, read once in each transaction.
    /// - Throws: ``OutboxError`` if the file is damaged, was written by a newer release, or cannot be made durable.
    package init(
        path: String, synchronous: Synchronous = .full, now: @escaping @Sendable () -> Int64 = { WallClock.now() }
    ) throws(OutboxError) {
        (self.path, self.now) = (path, now)
        let executor = StoreExecutor()
        self.executor = executor
        do {
            var configuration = GRDB.Configuration()
            configuration.busyMode = .timeout(5)
            configuration.label = "waybill-outbox"
            configuration.targetQueue = executor.queue
            // A queue on a full disk can still be opened and read: the WAL index stays in memory, and the WAL file is
            // not created before there is something to write, unlike with GRDB's own setting of this mode.
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                // SQLite accepts `auto_vacuum` for an empty file only, and would write to any other; its disk may be
                // full.
                if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 {
                    try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                }
                try db.execute(sql: "PRAGMA journal_mode = WAL")
            }
            Self.makePrivate(path)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
                // The WAL is checkpointed every 16 MiB, then overwritten from its start and never truncated: a disk
                // syncs overwritten blocks several times faster than those that grow a file.
                try db.execute(sql: "PRAGMA wal_autocheckpoint = \(Self.longestLog / Self.bytesPerPage)")
                try db.execute(sql: "PRAGMA journal_size_limit = -1")
                if synchronous == .full { try Self.requireDurability(db) }
                try Schema.prepare(db)
            }
            group = WriteGroup(queue) { [leased] in leased.removeAll() }
        } catch {
            throw OutboxError(storage: error)
        }
    }

    /// Restricts access to the file to its owner. SQLite gives the WAL and its index the mode of the file.
    private static func makePrivate(_ path: String) {
        // An existing file is not opened: closing it would release the POSIX locks that SQLite holds in this process.
        for name in [path, path + "-wal", path + "-shm"] { unsafe _ = chmod(name, 0o600) }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        // SQLite reports errors of the path.
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Returns `PRAGMA synchronous` and the journal mode.
    package func durability() async throws(OutboxError) -> (synchronous: Int, journal: String) {
        try await group.perform { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1,
                try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? ""
            )
        }
    }

    package func checkIntegrity() async throws(OutboxError) -> String {
        try await group.perform { try String.fetchAll($0, sql: "PRAGMA integrity_check").joined(separator: "\n") }
    }

    package func storedBytes() async throws(OutboxError) -> Int64 {
        ["", "-wal"].reduce(0) { $0 + allocatedBytes(of: path + $1) }
    }

    package func close() async { await group.close() }

    /// Changes items in a transaction, possibly together with others.
    func change<Value: Sendable>(
        _ work: @escaping @Sendable (inout ItemTransaction) throws -> Value
    ) async throws(OutboxError) -> Value {
        try await group.perform { [leased, now] db in
            var transaction = try ItemTransaction(db, leased, now: now())
            let value = try work(&transaction)
            try transaction.close()
            return value
        }
    }

    private static func requireDurability(_ db: Database) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode")
        let level = try Int.fetchOne(db, sql: "PRAGMA synchronous")
        guard mode == "wal", level == 2 else {
            throw OutboxError(
                .notDurable,
                "SQLite uses journal_mode \(mode ?? "?") and synchronous \(level ?? -1) instead of wal and 2. Move the "
                    + "outbox to a local disk.")
        }
    }

    private static let longestLog = 16 * 1_048_576
    private static let bytesPerPage = 4_096
}

/// The SQLite library that this process has loaded.
package enum SQLiteLibrary {
    /// The version: `3.40.1`.
    package static var version: String { unsafe String(cString: sqlite3_libversion()) }
}

/// Runs tasks on the queue of the commits, so that a task continues after its commit without a thread change.
///
/// Do not run blocking work on it. Deliveries run on Swift's own pool.
private final class StoreExecutor: TaskExecutor {
    /// The target queue of the connection's own queue.
    let queue = DispatchQueue(label: "waybill-outbox")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
