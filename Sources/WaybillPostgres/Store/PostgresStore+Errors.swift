#if Shared
    import WaybillOutbox

    extension OutboxError {
        /// Creates an outbox error from one of PostgreSQL, with the remedy.
        init(_ error: PostgresError) {
            let (code, remedy) = Self.classify(error)
            let text = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
            let state = error.sqlState.map { " (SQLSTATE \($0))" } ?? ""
            self.init(code, "\(text)\(state).\(remedy.isEmpty ? "" : " " + remedy)", cause: error)
        }

        private static func classify(_ error: PostgresError) -> (code: Code, remedy: String) {
            switch error.kind {
            case .connectionLost:
                return (.storeUnreachable, "Check that the server of the outbox runs and accepts connections.")
            case .readOnly:
                return (.storeUnreachable, "Use the primary server, or list all servers in the URL.")
            case .timeLimit:
                return (.storeUnreachable, "Check the load of the server and its locks.")
            case .conflict, .uniqueViolation:
                return (.storageFailed, "Concurrent transactions kept changing the same items. Try again.")
            case .serverExhausted:
                return error.sqlState == "53100"
                    ? (.diskFull, "Free disk space on the server.")
                    : (.storeUnreachable, "Free memory or connections on the server, or use a pooler.")
            // Without a code, the message has the remedy.
            case .wrongSchema:
                return (.queueUnusable, error.sqlState == nil ? "" : missing)
            case .cancelled: return (.cancelled, "Repeat the call.")
            case .closed: return (.closed, "Open the outbox again.")
            case .invalidURL: return (.queueUnusable, "Correct the URL of the outbox.")
            case .untrusted: return (.queueUnusable, untrusted(error.message))
            case .poolerNotDeclared:
                return (
                    .queueUnusable,
                    "A pooler such as PgBouncer is in front of the server: add pooler=transaction to the URL of the outbox."
                )
            case .rejected: return rejected(error.sqlState ?? "")
            }
        }

        private static let missing =
            "Tables of the outbox were removed, or have another version. Restore a backup, or use the same release of "
            + "Waybill on all machines."

        /// The remedy for a message of libpq.
        private static func untrusted(_ message: String) -> String {
            if message.contains("does not match host name") {
                return "Use a host name of the certificate in the URL, or a certificate with this name on the server."
            }
            if message.contains("verify failed") {
                return
                    "Check that the certificate of the server is valid now, and that sslrootcert in the URL names the "
                    + "file of the authority that issued it."
            }
            if message.contains("does not support SSL") { return "Set ssl to on in the configuration of the server." }
            return "Correct sslrootcert, sslcert and sslkey in the URL, and the permissions of these files."
        }

        private static func rejected(_ state: String) -> (code: Code, remedy: String) {
            switch (state, state.prefix(2)) {
            case ("42501", _): (.queueUnusable, "Grant the user the rights to the schema waybill and its tables.")
            case (_, "28"): (.queueUnusable, "Check the user, and the password in PGPASSFILE, PGPASSWORD or the URL.")
            case (_, "3D"): (.queueUnusable, "Name a database that exists in the URL, or create this one.")
            // The data of one item: other items can still be stored.
            case (_, "22"), (_, "23"): (.storageFailed, "The server refused the data of an item.")
            default: (.queueUnusable, "Report this message with the release of Waybill.")
            }
        }
    }
#endif
