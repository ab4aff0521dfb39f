/// The tables of a queue file of version 1, as existing installations have them.
enum FirstSchema {
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
        CREATE INDEX item_ready ON item(lane, rank, id) WHERE state = 0 AND after IS NULL;
        CREATE INDEX item_leased ON item(id) WHERE state = 1;
        CREATE INDEX item_waiting ON item(run_at) WHERE state = 2;
        CREATE INDEX item_verify ON item(lane, run_at) WHERE state = 3 AND verifying = 0;
        CREATE INDEX item_verifying ON item(id) WHERE verifying = 1;
        CREATE UNIQUE INDEX item_dedupe ON item(dedupe_key)
          WHERE dedupe_key IS NOT NULL AND after IS NULL AND state < 5;
        CREATE INDEX item_same ON item(dedupe_key, id) WHERE dedupe_key IS NOT NULL;
        CREATE INDEX item_after ON item(after) WHERE after IS NOT NULL;
        CREATE UNIQUE INDEX item_seq ON item(seq) WHERE seq IS NOT NULL;
        CREATE INDEX item_ended ON item(ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX item_tally ON item(state, size);
        CREATE INDEX item_batch ON item(batch, state, size) WHERE batch IS NOT NULL;
        CREATE TABLE lane(
          name TEXT PRIMARY KEY, blocked TEXT, rests_until INTEGER NOT NULL DEFAULT 0,
          failures INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
        CREATE TABLE staged(name TEXT PRIMARY KEY, item INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX staged_item ON staged(item);
        CREATE TABLE mark(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        """
}
