import GRDB

/// The tables of the queue file. Numbers of states stand in files that exist, so they never change.
///
/// An upload on its way from `ready` to `done` is written three times, each time with its entries in the indexes, and each page
/// that is touched goes into the log whole. So an index is for what is rare, or grows at its end: entries of uploads that come
/// one after another lie beside each other. An index of states and sizes, which had its entries all over, made the log four
/// to seven times as long; how many items are in each state is counted in `tally` instead, by whoever moves them.
enum Schema {
    static let version = 3

    /// States that few items are in, all but `ready`, `leased` and `done`: the condition of the index `item_rare`, word for word.
    /// Compared one by one: a list after `IN` would be a table of its own, made anew by SQLite for each row that is written.
    static let isRare = "state > 1 AND state <> 5"

    /// First in their lines, or taken from there: the condition of the index `item_ready`, word for word. What is taken stays in
    /// the index until its end, so that a lease changes no index; whoever looks for the next passes by the few that are taken.
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
          status INTEGER, headers TEXT, body BLOB, message TEXT, changed_after INTEGER NOT NULL DEFAULT 0);
        \(ready)
        CREATE INDEX item_waiting ON item(run_at) WHERE state = 2;
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
          failures INTEGER NOT NULL DEFAULT 0, refusals INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
        CREATE TABLE staged(name TEXT PRIMARY KEY, item INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX staged_item ON staged(item);
        CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        \(tally)
        """

    private static let tally = """
        CREATE TABLE tally(state INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes INTEGER NOT NULL);
        """

    private static let ready = "CREATE INDEX item_ready ON item(lane, rank, id) WHERE \(isFirst);"
    private static let rare = "CREATE INDEX item_rare ON item(state) WHERE \(isRare);"

    /// What makes a file of version 1 one of version 2.
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

    /// What makes a file of version 2 one of version 3.
    private static let third = "ALTER TABLE lane ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;"

    /// Makes the tables in an empty file, or brings those of an older release to this version: in one transaction, so that a
    /// file is of one version whenever the power goes.
    ///
    /// - Throws: ``OutboxError/Code/queueUnusable`` for a file of a newer release.
    static func prepare(_ db: Database) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw OutboxError(
                .queueUnusable,
                "the queue was written by a newer release (version \(found), this one knows \(version)): use that one")
        }
        guard found < version else { return }
        try db.inTransaction(.immediate) {
            for step in found == 0 ? [statements] : [second, third].dropFirst(found - 1) { try db.execute(sql: step) }
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }
}

extension OutboxState {
    /// What stands in the file.
    var number: Int {
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

    init(number: Int) {
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
