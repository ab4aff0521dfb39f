import GRDB

/// The schema of the queue file. The numbers of states are stored in existing files and must never change.
///
/// An upload is written three times on its way from `ready` to `done`, each time with its index entries, and each page
/// touched is written to the WAL completely. Therefore, indexes cover only rare rows or grow at their end, so that
/// entries of consecutive uploads are adjacent. An index of states and sizes, with scattered entries, made the WAL four
/// to seven times as long; the number of items in each state is maintained in `tally` instead, by each change of state.
enum Schema {
    static let version = 5

    /// The states that few items are in: all but `ready`, `leased` and `done`. Literally the condition of the index
    /// `item_rare`. Uses comparisons, because SQLite would build a temporary table for an `IN` list for each row
    /// written.
    static let isRare = "state > 1 AND state <> 5"

    /// The items that are the first of their duplicates and ready or leased. Literally the condition of the index
    /// `item_ready`. Leased items stay in the index until they end, so that a lease changes no index; a search for the
    /// next item skips the few that are leased.
    static let isFirst = "state <= 1 AND after IS NULL"

    static let statements = """
        CREATE TABLE item(
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          kind TEXT NOT NULL, lane TEXT NOT NULL, spec TEXT NOT NULL, idem_key TEXT NOT NULL UNIQUE,
          state INTEGER NOT NULL, attempts INTEGER NOT NULL, lease_no INTEGER NOT NULL, verifying INTEGER NOT NULL,
          asked INTEGER NOT NULL, run_at INTEGER NOT NULL, first_at INTEGER, doubtful INTEGER NOT NULL,
          vain INTEGER NOT NULL, reason TEXT, max_attempts INTEGER NOT NULL, deadline INTEGER,
          on_unknown TEXT NOT NULL, on_change TEXT NOT NULL,
          priority INTEGER NOT NULL, rank INTEGER NOT NULL, batch TEXT, tags TEXT NOT NULL, dedupe_key TEXT, after INTEGER, size INTEGER,
          token TEXT, resume BLOB, created_at INTEGER NOT NULL, ended_at INTEGER, seq INTEGER,
          status INTEGER, headers TEXT, body BLOB, message TEXT, changed_after INTEGER NOT NULL DEFAULT 0, not_before INTEGER, leased_at INTEGER, history TEXT, key_period INTEGER);
        \(ready)
        \(waiting)
        CREATE INDEX item_verify ON item(lane, run_at) WHERE state = 3 AND verifying = 0;
        CREATE INDEX item_verifying ON item(id) WHERE verifying = 1;
        CREATE UNIQUE INDEX item_dedupe ON item(dedupe_key)
          WHERE dedupe_key IS NOT NULL AND after IS NULL AND state < 5;
        CREATE INDEX item_same ON item(dedupe_key, id) WHERE dedupe_key IS NOT NULL;
        CREATE INDEX item_after ON item(after) WHERE after IS NOT NULL;
        CREATE UNIQUE INDEX item_seq ON item(seq) WHERE seq IS NOT NULL;
        \(rare)
        CREATE INDEX item_batch ON item(batch, state, size) WHERE batch IS NOT NULL;
        CREATE TABLE lane(
          name TEXT PRIMARY KEY, blocked TEXT, rests_until INTEGER NOT NULL DEFAULT 0,
          failures INTEGER NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0, rate_count INTEGER, rate_period INTEGER, full_at INTEGER, max_running INTEGER) WITHOUT ROWID;
        CREATE TABLE staged(name TEXT PRIMARY KEY, item INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX staged_item ON staged(item);
        CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        \(tally)
        \(reservation)
        """

    /// The deduplication keys of delivered items, each until a time.
    private static let reservation = """
        CREATE TABLE reservation(key TEXT PRIMARY KEY, item INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX reservation_until ON reservation(until);
        """

    private static let tally = """
        CREATE TABLE tally(state INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes INTEGER NOT NULL);
        """

    private static let ready = "CREATE INDEX item_ready ON item(lane, rank, id) WHERE \(isFirst);"
    private static let rare = "CREATE INDEX item_rare ON item(state) WHERE \(isRare);"

    /// Items that wait for another attempt, and items that wait for the end of their delay.
    private static let waiting = """
        CREATE INDEX item_waiting ON item(run_at) WHERE state = 2 AND not_before IS NULL;
        CREATE INDEX item_delayed ON item(not_before) WHERE state = 2 AND not_before IS NOT NULL;
        """

    /// Migrates a file from version 1 to version 2.
    private static let second = """
        \(tally)
        INSERT INTO tally SELECT state, COUNT(*), CAST(TOTAL(size) AS INTEGER) FROM item GROUP BY state;
        DROP INDEX item_tally;
        DROP INDEX item_leased;
        DROP INDEX item_ended;
        DROP INDEX item_ready;
        \(ready)
        \(rare)
        """

    /// Migrates a file from version 2 to version 3.
    private static let third = "ALTER TABLE lane ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;"

    /// Migrates a file from version 3 to version 4.
    private static let fourth = """
        ALTER TABLE item ADD COLUMN not_before INTEGER;
        ALTER TABLE item ADD COLUMN leased_at INTEGER;
        ALTER TABLE item ADD COLUMN history TEXT;
        ALTER TABLE item ADD COLUMN key_period INTEGER;
        \(reservation)
        ALTER TABLE lane ADD COLUMN rate_count INTEGER;
        ALTER TABLE lane ADD COLUMN rate_period INTEGER;
        ALTER TABLE lane ADD COLUMN full_at INTEGER;
        DROP INDEX item_waiting;
        \(waiting)
        """

    /// Migrates a file from version 4 to version 5.
    private static let fifth = "ALTER TABLE lane ADD COLUMN max_running INTEGER;"

    /// Creates the tables in an empty file, or migrates those of an older release: in one transaction, so that the file
    /// has a consistent version after a power failure.
    ///
    /// - Throws: ``OutboxError/Code/queueUnusable`` for a file of a newer release.
    static func prepare(_ db: Database) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw OutboxError(
                .queueUnusable,
                "The queue was written by a newer release (version \(found), above \(version)). Use that release."
            )
        }
        guard found < version else { return }
        try db.inTransaction(.immediate) {
            let steps = found == 0 ? [statements] : [second, third, fourth, fifth].dropFirst(found - 1)
            for step in steps { try db.execute(sql: step) }
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }
}

extension OutboxState {
    /// The number that stores use; it never changes.
    package var number: Int {
        switch self {
        case .ready: 0
        case .leased: 1
        case .waiting: 2
        case .verify: 3
        case .paused: 4
        case .done: 5
        case .failed: 6
        case .cancelled: 7
        }
    }

    package init(number: Int) {
        self =
            switch number {
            case 0: .ready
            case 1: .leased
            case 2: .waiting
            case 3: .verify
            case 4: .paused
            case 5: .done
            case 7: .cancelled
            default: .failed
            }
    }
}
