/// A failure of a connection to PostgreSQL, or of a statement.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reaction that a failure calls for.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// There is no connection: connect again after a delay, and repeat the statements unless
        /// ``PostgresError/isOutcomeUnknown`` is set.
        case connectionLost
        /// The server rolled the transaction back because of a concurrent one: repeat it.
        case conflict
        /// A unique constraint rejected a row.
        case uniqueViolation
        /// The server lacks disk space, memory or connections: try again after some minutes.
        case serverExhausted
        /// The server is a standby, or became one: connect to the primary server.
        case readOnly
        /// Tables are missing, or the schema has another version.
        case wrongSchema
        /// The time limit of the statements passed.
        case timeLimit
        /// The task was cancelled.
        case cancelled
        /// The connection was closed by the caller.
        case closed
        /// The URL of the server is invalid.
        case invalidURL
        /// No connection with TLS is possible: a certificate is not trusted, or a file of a certificate cannot be used.
        case untrusted
        /// A pooler in transaction mode is between this program and the server, and the URL does not say so.
        case poolerNotDeclared
        /// The server rejected the statement or the user for another reason: repeating it will not help.
        case rejected
    }

    package var kind: Kind
    /// The code of the server, in five characters; `nil` if the failure was noticed by the client.
    package var sqlState: String?
    /// A sentence for people. It contains no password.
    package var message: String
    /// The name of the violated constraint.
    package var constraint: String?
    /// Whether the transaction may have been committed: the server received all of it, and its response did not arrive.
    package var isOutcomeUnknown = false

    /// A failure that the client noticed.
    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// A failure that the server reported.
    ///
    /// - Parameters:
    ///   - sqlState: The code, see Appendix A of the manual of PostgreSQL; `nil` if libpq lost the connection.
    ///   - message: The message of the server.
    ///   - constraint: The name of the violated constraint.
    ///   - function: The function in the server's source that reported the failure.
    package init(sqlState: String?, message: String, constraint: String? = nil, function: String? = nil) {
        kind = Self.kind(sqlState, function)
        // PgBouncer knows no parameter `options`.
        if sqlState == "08P01", message.hasPrefix("unsupported startup parameter") { kind = .poolerNotDeclared }
        // The functions of the log of a standby.
        if sqlState == "55000", message.contains("recovery is in progress") { kind = .readOnly }
        self.sqlState = sqlState
        self.message = message
        self.constraint = constraint
    }

    /// One line with kind, code and message.
    package var description: String {
        "\(kind.rawValue)\(sqlState.map { " (\($0))" } ?? ""): \(message)"
    }

    private static func kind(_ sqlState: String?, _ function: String?) -> Kind {
        guard let sqlState else { return .connectionLost }
        switch sqlState {
        // 57P01 to 57P05: the server shuts down, starts up, or ends a session; 25P03: a transaction was idle for too long.
        case "57P01", "57P02", "57P03", "57P05", "25P03": return .connectionLost
        case "40001", "40P01": return .conflict
        // Another session changed the schema: the next attempt prepares the statement again.
        case "0A000" where function == "RevalidateCachedQuery": return .conflict
        case "23505": return .uniqueViolation
        case "25006": return .readOnly
        // A table, a column, a function or the schema does not exist.
        case "42P01", "42703", "42883", "3F000": return .wrongSchema
        // `statement_timeout`, `lock_timeout`, or a cancellation by an administrator.
        case "57014", "55P03": return .timeLimit
        // A prepared statement does not exist, or exists already: PgBouncer has passed this transaction to another session.
        case "26000", "42P05": return .poolerNotDeclared
        default: break
        }
        switch sqlState.prefix(2) {
        case "08": return .connectionLost
        case "53": return .serverExhausted
        default: return .rejected
        }
    }

    /// Whether the server no longer has the prepared statements that the client has prepared, or refuses to run them.
    var invalidatesPrepared: Bool { sqlState == "26000" || sqlState == "0A000" && kind == .conflict }

    /// The failure as seen by a transaction that the server received in whole.
    func withUnknownOutcome(_ isUnknown: Bool) -> PostgresError {
        var error = self
        error.isOutcomeUnknown = isUnknown
        return error
    }
}

extension PostgresError {
    /// A failure to connect to one host, from the message of libpq with `PQERRORS_VERBOSE`, the only source of its code:
    /// `FATAL:  28P01: password authentication failed for user "a"`, and a second line with the place in the source.
    init(connecting message: String) {
        // One line for each address of the host that was tried.
        let lines = message.split(whereSeparator: \.isNewline).map(String.init)
        func text(_ reason: String) -> String { "Could not connect to PostgreSQL: \(reason)." }
        if let match = lines.lazy.compactMap({ $0.firstMatch(of: /: {2}([0-9A-Z]{5}): (.*)$/) }).first {
            self.init(sqlState: String(match.1), message: String(match.2))
            self.message = text(String(match.2))
            return
        }
        // libpq does not ask the server, which would refuse an empty password with this code.
        if lines.contains(where: { $0.contains("no password supplied") }) {
            self.init(sqlState: "28P01", message: text("no password is known for the user"))
            return
        }
        // An address that refuses connections is only one of several, such as ::1 of localhost.
        let known = lines.lazy.compactMap { line in Self.kind(ofReason: line).map { ($0, line) } }.first
        self.init(known?.0 ?? .connectionLost, text(known?.1 ?? lines.first ?? "no reason was given"))
    }

    /// Returns the kind of a failure that libpq has found itself, or `nil` for one of the network.
    private static func kind(ofReason line: String) -> Kind? {
        // Paths may be before this.
        let reason = line.firstRange(of: " failed: ").map { line[$0.upperBound...] } ?? line[...]
        func has(_ texts: String...) -> Bool { texts.contains { reason.contains($0) } }
        if has("certificate", "private key", "does not support SSL", "alert unknown ca", "unsupported protocol") {
            return .untrusted
        }
        if has("session is read-only", "in hot standby mode") { return .readOnly }
        return reason.hasPrefix("invalid ") ? .invalidURL : nil
    }

    /// The failure to connect to all hosts of a URL. As long as one of them may accept connections later, it is of a kind
    /// to try again.
    init(_ hosts: [PostgresError]) {
        self = hosts.first { [.connectionLost, .readOnly, .serverExhausted].contains($0.kind) } ?? hosts[0]
        var messages: [String] = []
        for host in hosts where !messages.contains(host.message) { messages.append(host.message) }
        message = messages.joined(separator: " ")
    }
}
