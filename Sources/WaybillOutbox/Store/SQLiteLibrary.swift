import GRDBSQLite

/// The SQLite library that this process has loaded.
package enum SQLiteLibrary {
    /// The version: `3.40.1`.
    package static var version: String { unsafe String(cString: sqlite3_libversion()) }
}
