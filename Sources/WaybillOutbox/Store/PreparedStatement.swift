import FoundationEssentials
import GRDB
import GRDBSQLite

/// A prepared statement that is bound, run and read with SQLite's C API.
///
/// GRDB compiles it, caches it and closes it with the connection. GRDB's own execution boxes the arguments and builds a
/// table of column names each time, which takes longer than SQLite's work for one row. Errors are GRDB's.
///
/// Bind all values in order, then call ``run()``, ``first(_:)`` or ``all(_:)``. Afterwards, values can be bound again.
@safe struct PreparedStatement {
    private let grdbStatement: Statement
    private let statement: OpaquePointer
    private let connection: OpaquePointer?
    private var bound: Int32 = 0
    /// The first binding error. Thrown when the statement runs, so that binding does not need `try`.
    private var bindingError = SQLITE_OK

    /// Creates a statement that is cached for later transactions.
    ///
    /// Look it up once per transaction, not once per item. Two statements with the same text are the same object:
    /// finish using one before using the other.
    init(_ db: Database, _ sql: String) throws {
        self.init(try db.cachedStatement(sql: sql), db)
    }

    /// Creates a statement that is not cached.
    init(once sql: String, _ db: Database) throws {
        self.init(try db.makeStatement(sql: sql), db)
    }

    private init(_ grdbStatement: Statement, _ db: Database) {
        self.grdbStatement = grdbStatement
        unsafe statement = grdbStatement.sqliteStatement
        unsafe connection = db.sqliteConnection
    }
}

// Binding.

extension PreparedStatement {
    mutating func bind(_ value: Int64?) {
        bound += 1
        if let value {
            unsafe record(sqlite3_bind_int64(statement, bound, value))
        } else {
            unsafe record(sqlite3_bind_null(statement, bound))
        }
    }

    mutating func bind(_ value: Int?) { bind(value.map { Int64($0) }) }

    mutating func bind(_ value: Bool) { bind(value ? 1 : 0 as Int64) }

    mutating func bind(_ value: String?) {
        guard var value else { return bind(nil as Int64?) }
        bound += 1
        let code = value.withUTF8 { text in
            // An empty string may have no base address, and SQLite would bind a null pointer as NULL.
            guard let start = text.baseAddress else {
                return unsafe sqlite3_bind_text(statement, bound, "", 0, nil)
            }
            return unsafe start.withMemoryRebound(to: CChar.self, capacity: text.count) { start in
                unsafe sqlite3_bind_text64(
                    statement, bound, start, UInt64(text.count), Self.copied, UInt8(SQLITE_UTF8))
            }
        }
        record(code)
    }

    mutating func bind(_ value: Data) {
        bound += 1
        let code = unsafe value.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else {
                return unsafe sqlite3_bind_zeroblob(statement, bound, 0)
            }
            return unsafe sqlite3_bind_blob64(statement, bound, start, UInt64(bytes.count), Self.copied)
        }
        record(code)
    }

    private mutating func record(_ code: Int32) {
        if bindingError == SQLITE_OK { bindingError = code }
    }

    /// `SQLITE_TRANSIENT`, a macro that is not imported into Swift: SQLite makes its own copy.
    private static var copied: sqlite3_destructor_type? { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}

// Execution.

extension PreparedStatement {
    mutating func run() throws {
        while try next() {}
    }

    mutating func first<Value>(_ read: (PreparedStatement) -> Value) throws -> Value? {
        guard try next() else { return nil }
        let value = read(self)
        reset()
        return value
    }

    mutating func all<Value>(_ read: (PreparedStatement) -> Value) throws -> [Value] {
        var values: [Value] = []
        while try next() { values.append(read(self)) }
        return values
    }

    private mutating func next() throws -> Bool {
        let code = bindingError == SQLITE_OK ? unsafe sqlite3_step(statement) : bindingError
        if code == SQLITE_ROW { return true }
        // Read the error before the reset, which may replace it.
        let error = code == SQLITE_DONE ? nil : failure(code)
        reset()
        if let error { throw error }
        return false
    }

    private mutating func reset() {
        // The step has already returned the same error.
        _ = unsafe sqlite3_reset(statement)
        bound = 0
        bindingError = SQLITE_OK
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code), message: unsafe String(cString: sqlite3_errmsg(connection)))
    }
}

// Columns by index. The type of the result selects the conversion: `NULL` is 0 or empty for a non-optional type.

extension PreparedStatement {
    subscript(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }
    subscript(_ column: Int32) -> Int { Int(truncatingIfNeeded: self[column] as Int64) }
    subscript(_ column: Int32) -> Bool { self[column] as Int64 != 0 }
    subscript(_ column: Int32) -> Int64? { isNull(column) ? nil : self[column] as Int64 }
    subscript(_ column: Int32) -> Int? { isNull(column) ? nil : self[column] as Int }

    subscript(_ column: Int32) -> String {
        // Get the text before its length: getting the text may convert it.
        guard let text = unsafe sqlite3_column_text(statement, column) else { return "" }
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    subscript(_ column: Int32) -> String? { isNull(column) ? nil : self[column] as String }

    subscript(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        let bytes = unsafe sqlite3_column_blob(statement, column)
        let count = unsafe Int(sqlite3_column_bytes(statement, column))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    private func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }
}
