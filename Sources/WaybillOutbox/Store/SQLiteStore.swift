import GRDB
import Glibc
import WaybillCore

/// Items in a file of SQLite.
///
/// One connection does all: releases of SQLite before 3.51.3 can damage a file in WAL mode when one connection writes while
/// another checkpoints (https://www.sqlite.org/wal.html#walresetbug). Whoever opens a store holds the outbox's lock.
package final class SQLiteStore: OutboxStore {
    let group: WriteGroup

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
    ///   - mostPages: A limit on the size of the file, for tests of full disks.
    /// - Throws: ``OutboxError``: the file is damaged or of a newer release, or SQLite won't promise durability.
    package init(path: String, synchronous: Synchronous = .full, mostPages: Int? = nil) throws(OutboxError) {
        do {
            var configuration = GRDB.Configuration()
            configuration.journalMode = .wal
            configuration.busyMode = .timeout(5)
            configuration.label = "waybill-outbox"
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { db in
                // After opening: GRDB itself sets NORMAL when it turns WAL on.
                try db.execute(sql: "PRAGMA synchronous = \(synchronous.rawValue)")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                try db.execute(sql: "PRAGMA journal_size_limit = 0")
                if synchronous == .full { try Self.requireDurability(db) }
                try Schema.prepare(db)
                if let mostPages { try db.execute(sql: "PRAGMA max_page_count = \(mostPages)") }
            }
            group = WriteGroup(queue) { Self.checkpointIfLong($0, path: path + "-wal") }
        } catch {
            throw OutboxError(storage: error)
        }
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

    /// Changes the limit on the file's size, for tests of full disks.
    package func limit(pages: Int) async throws(OutboxError) {
        try await group.perform { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    package func checkIntegrity() async throws(OutboxError) -> String {
        try await group.perform { try String.fetchAll($0, sql: "PRAGMA integrity_check").joined(separator: "\n") }
    }

    package func close() async { await group.close() }

    /// Does work on items in a transaction, maybe together with others.
    func change<Value: Sendable>(
        _ work: @escaping @Sendable (inout ItemBook) throws -> Value
    ) async throws(OutboxError) -> Value {
        try await group.perform { db in
            var book = try ItemBook(db)
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

    /// Moves the log into the file when it is long. On the one connection, between two transactions.
    private static func checkpointIfLong(_ db: Database, path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_size > longestLog else { return }
        // What can't be moved now will be, some other time; nothing depends on it.
        _ = try? db.checkpoint(.truncate)
    }

    private static let longestLog = 16 * 1_048_576
}
