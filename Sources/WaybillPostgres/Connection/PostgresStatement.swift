import Glibc

/// A statement with its parameters: `$1`, `$2`, ….
package struct PostgresStatement: Sendable, Hashable {
    package let sql: String
    package let parameters: [PostgresValue]

    /// The largest number of parameters: `wb_pg_max_parameters`. Pass arrays and use `unnest` for more values.
    static let maxParameters = 64

    package init(_ sql: String, _ parameters: PostgresValue...) {
        self.init(sql, parameters: parameters)
    }

    package init(_ sql: String, parameters: [PostgresValue]) {
        self.sql = sql
        self.parameters = parameters
    }

    /// The statement that listens to a channel, whose name is an identifier.
    static func listen(to channel: String) -> PostgresStatement {
        PostgresStatement(
            "LISTEN \"\(channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\"")
    }

    /// Throws an error if libpq or the protocol cannot send the statement.
    func check() throws(PostgresError) {
        guard parameters.count <= Self.maxParameters else {
            throw PostgresError(
                .rejected, "A statement has \(parameters.count) parameters, at most \(Self.maxParameters) are possible."
            )
        }
        guard !sql.containsNUL else { throw PostgresError(.rejected, "A statement contains a NUL character.") }
        let size = parameters.reduce(0) { $0 + $1.estimatedSize }
        guard size < BinaryFormat.largestMessage else {
            throw PostgresError(.rejected, "The parameters of a statement have \(size) bytes, which exceeds 1 GiB.")
        }
    }
}

/// The rows that a statement returned.
package struct PostgresRows: Sendable, Hashable {
    package let rows: [[PostgresValue]]
    /// The command that was performed, as the server names it: `SELECT 1`, `COMMIT`.
    package let tag: String

    package var count: Int { rows.count }
    package subscript(row: Int, column: Int) -> PostgresValue { rows[row][column] }
}

extension String {
    /// Whether the text contains the character NUL. memchr(3), because all statements and many values are searched.
    var containsNUL: Bool {
        let found = unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.baseAddress.map { unsafe memchr($0, 0, bytes.count) != nil } ?? false
        }
        return found ?? utf8.contains(0)
    }
}
