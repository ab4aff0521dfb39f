import Dispatch
import GRDB
import Glibc
import WaybillCore

/// Items in a file of SQLite.
///
/// Every call is one transaction. When it returns, its effect survives a power cut. Times are milliseconds since 1970.
///
/// One connection does all: releases of SQLite before 3.51.3 can damage a file in WAL mode when one connection writes while
/// another checkpoints (https://www.sqlite.org/wal.html#walresetbug). Whoever opens a store holds the outbox's lock.
package final class SQLiteStore: Sendable {
    let group: WriteGroup
    /// Where a task costs the least when it asks for one transaction after another.
    package let executor: any TaskExecutor
    private let leased = LeasedRows()

    /// How much a commit promises.
    package enum Synchronous: String, Sendable {
        /// It survives a power cut.
        case full = "FULL"
        /// It survives the process. For tests that have to fail.
        case normal = "NORMAL"
    }

    /// Opens a file, or makes one.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - synchronous: Leave it out.
    /// - Throws: ``OutboxError``: the file is damaged or of a newer release, or SQLite won't promise durability.
    package init(path: String, synchronous: Synchronous = .full) throws(OutboxError) {
        let executor = StoreExecutor()
        self.executor = executor
        do {
            var configuration = GRDB.Configuration()
            configuration.busyMode = .timeout(5)
            configuration.label = "waybill-outbox"
            configuration.targetQueue = executor.queue
            // A queue on a full disk can be opened and read: the index of the log stays in memory, and the log is not begun
            // before there is something to write, as it is by GRDB's own setting of this mode.
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                // SQLite accepts `auto_vacuum` for an empty file only, and would write to another one, whose disk may be full.
                if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 {
                    try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                }
                try db.execute(sql: "PRAGMA journal_mode = WAL")
            }
            Self.makePrivate(path)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
                // What is in the log moves into the file every 16 MiB, and the log is then written anew from its start and never
                // made shorter: a disk makes what lies where something lay durable several times sooner than what grows a file.
                try db.execute(sql: "PRAGMA wal_autocheckpoint = \(Self.longestLog / Self.bytesPerPage)")
                try db.execute(sql: "PRAGMA journal_size_limit = -1")
                if synchronous == .full { try Self.requireDurability(db) }
                try Schema.prepare(db)
            }
            group = WriteGroup(queue) { [leased] in leased.forget() }
        } catch {
            throw OutboxError(storage: error)
        }
    }

    /// Lets only the owner read and write the file. SQLite gives its log and its index the mode of the file.
    private static func makePrivate(_ path: String) {
        // A file that exists is not opened: closing it would release the locks that SQLite holds in this process.
        for name in [path, path + "-wal", path + "-shm"] { unsafe _ = chmod(name, 0o600) }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        // SQLite reports what is wrong with the path.
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// What SQLite says about itself: `PRAGMA synchronous` and the journal's mode.
    package func durability() async throws(OutboxError) -> (synchronous: Int, journal: String) {
        try await group.perform { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1,
                try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? ""
            )
        }
    }

    /// Finds damage.
    ///
    /// - Returns: `ok`, or what is wrong.
    package func checkIntegrity() async throws(OutboxError) -> String {
        try await group.perform { try String.fetchAll($0, sql: "PRAGMA integrity_check").joined(separator: "\n") }
    }

    package func close() async { await group.close() }

    /// Does work on items in a transaction, maybe together with others.
    func change<Value: Sendable>(
        _ work: @escaping @Sendable (inout ItemBook) throws -> Value
    ) async throws(OutboxError) -> Value {
        try await group.perform { [leased] db in
            var book = try ItemBook(db, leased)
            let value = try work(&book)
            try book.close()
            return value
        }
    }

    private static func requireDurability(_ db: Database) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode")
        let level = try Int.fetchOne(db, sql: "PRAGMA synchronous")
        guard mode == "wal", level == 2 else {
            throw OutboxError(
                .notDurable,
                "SQLite runs with journal_mode \(mode ?? "?") and synchronous \(level ?? -1), and this needs wal and 2: put "
                    + "the outbox on a local disk")
        }
    }

    private static let longestLog = 16 * 1_048_576
    private static let bytesPerPage = 4_096
}

/// Runs tasks on the queue of the commits, so that a task continues after its commit without a change of threads.
///
/// Work that waits does not belong here. Deliveries run on Swift's own pool.
private final class StoreExecutor: TaskExecutor {
    /// The queue that the connection's own is a part of.
    let queue = DispatchQueue(label: "waybill-outbox")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
