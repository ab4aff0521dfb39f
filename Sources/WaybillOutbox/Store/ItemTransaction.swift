import FoundationEssentials
import GRDB
import Waybill
import WaybillCore

/// Reads and changes items within one transaction.
///
/// Statements are prepared once, and values shared by all items are written once, by ``close()``: the last sequence
/// number and the number of items in each state.
struct ItemTransaction {
    let db: Database
    /// The time of the transaction, in milliseconds since 1970.
    let now: Int64
    private let leased: LeasedRows
    private var selection: PreparedStatement
    private var fullSelection: PreparedStatement
    private var insertion: PreparedStatement
    private var leaseUpdate: PreparedStatement
    private var update: PreparedStatement
    private var updateWithResponse: PreparedStatement
    private var stagedSelection: PreparedStatement
    /// Whether any staged file exists: queried once per transaction instead of once per item.
    private var hasStaged: Bool?
    private var lastSequence: Int64?
    /// Indexed by the numbers of states.
    private var changes = Self.noChanges

    init(_ db: Database, _ leased: LeasedRows, now: Int64) throws {
        self.db = db
        self.now = now
        self.leased = leased
        selection = try PreparedStatement(db, "SELECT \(ItemRow.columns) FROM item WHERE id = ?")
        fullSelection = try PreparedStatement(db, "SELECT \(FullItemRow.columns) FROM item WHERE id = ?")
        insertion = try PreparedStatement(db, Self.insertionText)
        leaseUpdate = try PreparedStatement(db, Self.leaseUpdateText)
        update = try PreparedStatement(db, Self.updateText)
        updateWithResponse = try PreparedStatement(db, Self.updateWithResponseText)
        stagedSelection = try PreparedStatement(db, "SELECT name FROM staged WHERE item = ?")
    }

    /// Returns an item by its ID.
    mutating func item(_ id: Int64) throws -> ItemRow? {
        if let row = leased[id] { return row }
        selection.bind(id)
        return try selection.first(ItemRow.init)
    }

    /// Returns an item with all its columns.
    mutating func fullItem(_ id: Int64) throws -> FullItemRow? {
        fullSelection.bind(id)
        return try fullSelection.first(FullItemRow.init)
    }

    /// Inserts an item.
    ///
    /// - Returns: The ID; `nil` if an item with the same idempotency key exists, in which case nothing was inserted.
    mutating func add(_ item: NewItem, after: Int64?) throws -> Int64? {
        let life = item.life(at: now)
        insertion.bind(item.kind)
        insertion.bind(item.lane)
        insertion.bind(item.spec)
        insertion.bind(item.idempotencyKey)
        insertion.bind(life.state.number)
        insertion.bind(life.runAt)
        insertion.bind(life.maxAttempts)
        insertion.bind(life.deadline)
        insertion.bind(life.onUnknown.rawValue)
        insertion.bind(life.onChange.rawValue)
        insertion.bind(item.priority)
        insertion.bind(item.rank(now))
        insertion.bind(item.batch)
        insertion.bind(FullItemRow.join(item.tags))
        insertion.bind(item.deduplicationKey)
        insertion.bind(after)
        insertion.bind(item.size)
        insertion.bind(now)
        insertion.bind(life.notBefore)
        insertion.bind(item.keyPeriod)
        try insertion.run()
        guard db.changesCount == 1 else { return nil }
        count(life.state, 1, item.size)
        let id = db.lastInsertedRowID
        if !item.staged.isEmpty { hasStaged = true }
        for name in item.staged {
            var staged = try PreparedStatement(db, "INSERT INTO staged(name, item) VALUES(?, ?)")
            staged.bind(name)
            staged.bind(id)
            try staged.run()
        }
        return id
    }

    /// Saves the changes of an event, together with the response if there is one, in a single write of the row.
    mutating func save(_ row: ItemRow, before: OutboxState, response: StoredResponse?) throws {
        try write(row, before: before, response: response)
        leased.cache(row)
        if row.life.state != before {
            count(before, -1, row.size)
            count(row.life.state, 1, row.size)
        }
    }

    private mutating func write(_ row: ItemRow, before: OutboxState, response: StoredResponse?) throws {
        // The only columns that a lease changes. Columns that are not named cost no index lookups.
        if row.life.state == .leased, before == .ready {
            leaseUpdate.bind(row.life.attempts)
            leaseUpdate.bind(row.life.leaseNumber)
            leaseUpdate.bind(row.life.firstAttemptAt)
            leaseUpdate.bind(row.token)
            leaseUpdate.bind(row.life.leasedAt)
            leaseUpdate.bind(row.id)
            return try leaseUpdate.run()
        }
        guard let response else {
            Self.bind(row, to: &update)
            update.bind(row.id)
            return try update.run()
        }
        let headers = try response.headersText
        Self.bind(row, to: &updateWithResponse)
        updateWithResponse.bind(response.status)
        updateWithResponse.bind(headers)
        updateWithResponse.bind(response.body)
        updateWithResponse.bind(response.message)
        updateWithResponse.bind(response.sourceChangedAfterwards)
        updateWithResponse.bind(row.id)
        try updateWithResponse.run()
    }

    /// Returns the next sequence number.
    mutating func nextSequence() throws -> Int64 {
        let last: Int64
        if let lastSequence {
            last = lastSequence
        } else {
            var mark = try PreparedStatement(db, "SELECT value FROM mark WHERE name = ?")
            mark.bind(OutboxMark.sequence)
            last = try mark.first { $0[0] } ?? 0
        }
        lastSequence = last + 1
        return last + 1
    }

    /// Returns the names of an item's staged files.
    mutating func staged(_ id: Int64) throws -> [String] {
        if hasStaged == nil {
            var any = try PreparedStatement(db, "SELECT EXISTS(SELECT 1 FROM staged)")
            hasStaged = try any.first { $0[0] as Bool }
        }
        guard hasStaged == true else { return [] }
        stagedSelection.bind(id)
        return try stagedSelection.all { $0[0] }
    }

    /// Counts items that entered or left a state.
    mutating func count(_ state: OutboxState, _ items: Int64, _ size: Int64?) {
        // File sizes come from external sources: wrap around on overflow instead of crashing.
        changes[state.number].items += items
        changes[state.number].bytes &+= items &* (size ?? 0)
    }

    /// Writes the accumulated counters. Must be called before the commit of every change.
    mutating func close() throws {
        if let lastSequence {
            var mark = try PreparedStatement(
                db,
                "INSERT INTO mark(name, value) VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value")
            mark.bind(OutboxMark.sequence)
            mark.bind(lastSequence)
            try mark.run()
        }
        for (state, change) in changes.enumerated() where change != (0, 0) {
            var tally = try PreparedStatement(
                db,
                """
                INSERT INTO tally(state, items, bytes) VALUES(?, ?, ?) ON CONFLICT(state) DO UPDATE SET
                items = items + excluded.items, bytes = bytes + excluded.bytes
                """)
            tally.bind(state)
            tally.bind(change.items)
            tally.bind(change.bytes)
            try tally.run()
        }
        lastSequence = nil
        changes = Self.noChanges
    }

    private static func bind(_ row: ItemRow, to statement: inout PreparedStatement) {
        statement.bind(row.life.state.number)
        statement.bind(row.life.attempts)
        statement.bind(row.life.leaseNumber)
        statement.bind(row.life.isVerifying)
        statement.bind(row.life.pendingRequest.rawValue)
        statement.bind(row.life.runAt)
        statement.bind(row.life.firstAttemptAt)
        statement.bind(row.life.isDoubtful)
        statement.bind(row.life.failedVerifications)
        statement.bind(row.life.reason)
        statement.bind(row.life.deadline)
        statement.bind(row.after)
        statement.bind(row.token)
        statement.bind(row.endedAt)
        statement.bind(row.sequence)
        statement.bind(row.life.notBefore)
        statement.bind(row.life.leasedAt)
        statement.bind(row.history.text.isEmpty ? nil : row.history.text)
    }

    private static let noChanges = Array(
        repeating: (items: 0 as Int64, bytes: 0 as Int64), count: OutboxState.allCases.count)

    private static let changedColumns = """
        state = ?, attempts = ?, lease_no = ?, verifying = ?, asked = ?, run_at = ?, first_at = ?, doubtful = ?, vain = ?, \
        reason = ?, deadline = ?, after = ?, token = ?, ended_at = ?, seq = ?, not_before = ?, \
        leased_at = ?, history = ?
        """

    private static let leaseUpdateText =
        "UPDATE item SET state = 1, attempts = ?, lease_no = ?, first_at = ?, token = ?, leased_at = ? WHERE id = ?"
    private static let updateText = "UPDATE item SET \(changedColumns) WHERE id = ?"
    private static let updateWithResponseText = """
        UPDATE item SET \(changedColumns), status = ?, headers = ?, body = ?, message = ?, changed_after = ? \
        WHERE id = ?
        """

    // The insertion itself checks the key: a separate query would search the same index twice.
    private static let insertionText = """
        INSERT INTO item(kind, lane, spec, idem_key, state, attempts, lease_no, verifying, asked, run_at, doubtful,
        vain, max_attempts, deadline, on_unknown, on_change, priority, rank, batch, tags, dedupe_key, after,
        size, created_at, not_before, key_period)
        VALUES(?, ?, ?, ?, ?, 0, 0, 0, 0, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(idem_key) DO NOTHING
        """
}

/// A cache of the leased rows, so that a row written at a lease is not read again when the delivery ends.
///
/// The cache is correct because one connection writes, and all events go through ``ItemTransaction``. A rollback clears it.
final class LeasedRows: Sendable {
    private let rows = Locked<[Int64: ItemRow]>([:])

    subscript(_ id: Int64) -> ItemRow? { rows.withLock { $0[id] } }

    /// Caches a written row. The end of another item does not change it: a leased item is the first of its duplicates.
    func cache(_ row: ItemRow) {
        rows.withLock { $0[row.id] = row.life.state == .leased ? row : nil }
    }

    func removeAll() { rows.withLock { $0 = [:] } }
}
