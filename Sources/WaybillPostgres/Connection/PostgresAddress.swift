#if Shared
    import CWaybillPostgres
    import WaybillCore

    /// The URL of a database. It prints without its password.
    package struct PostgresAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
        /// The URL with its password.
        let url: Secret
        /// The URL without passwords and options.
        package let description: String
        package var debugDescription: String { description }

        /// - Parameter url: `postgresql://user:password@host:port/database?option=value`, with the options of libpq; for
        ///   a socket in a directory, `postgresql:///database?host=/directory`.
        /// - Throws: ``PostgresError`` of the kind `invalidURL`.
        package init(_ url: String) throws(PostgresError) {
            guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"), !url.utf8.contains(0),
                let parts = unsafe wb_pg_parse(url)
            else { throw PostgresError(.invalidURL, Self.remedy) }
            defer { unsafe wb_pg_parts_free(parts) }
            func part(_ keyword: String) -> String? {
                guard let value = unsafe wb_pg_part(parts, keyword) else { return nil }
                let text = unsafe String(cString: value)
                return text.isEmpty ? nil : text
            }
            let host = part("host") ?? part("hostaddr") ?? ""
            // The first @ of a URL ends the password, so what follows in a password would be printed as part of a host.
            let ports = (part("port") ?? "").split(separator: ",")
            guard !host.contains("@"), ports.allSatisfy({ UInt16($0) != nil }) else {
                throw PostgresError(.invalidURL, Self.remedy)
            }
            let isDirectory = host.hasPrefix("/")
            let user = part("user").map { $0 + (part("password") == nil ? "" : ":\(Secret.placeholder)") + "@" } ?? ""
            let port = part("port").map { isDirectory ? "&port=\($0)" : ":\($0)" } ?? ""
            description =
                "postgresql://" + user + (isDirectory ? "" : host + port) + "/" + (part("dbname") ?? "")
                + (isDirectory ? "?host=\(host)\(port)" : "")
            self.url = .secret(url)
        }

        private static let remedy =
            "The URL of PostgreSQL is invalid. Use postgresql://user:password@host:5432/database, and percent-encode"
            + " special characters of the password."
    }

    /// The settings of a connection.
    package struct PostgresConfiguration: Sendable, Hashable {
        package var address: PostgresAddress
        /// The name that the server shows for the connection.
        package var applicationName: String
        /// Whether statements are prepared on their first use. Disable it for a pooler in transaction mode, such as
        /// PgBouncer before version 1.21.
        package var preparesStatements = true
        /// The time limit for connecting. Looking up the host name counts, but is not interrupted.
        package var connectLimit = Duration.seconds(10)
        /// The time limit for statements, from the call until the result, including connecting.
        package var statementLimit = Duration.seconds(30)

        package init(_ address: PostgresAddress, applicationName: String = "waybill") {
            self.address = address
            self.applicationName = applicationName
        }

        // The tables of a queue change faster than their statistics: each statement has an index, and planning costs more
        // than most statements. Compiling one that is expected to read many rows, but does not, takes seconds.
        private static let planning = [
            "-c jit=off", "-c plan_cache_mode=force_generic_plan", "-c enable_seqscan=off",
        ]

        /// The parameters for libpq. Those of the URL, in `dbname`, override those before it.
        var keywords: [(name: String, value: String)] {
            var list = [
                ("application_name", applicationName),
                // A server that became a standby is an error.
                ("target_session_attrs", "read-write"),
                // A connection whose other end is gone is noticed after 30 seconds.
                ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
                ("tcp_user_timeout", "30000"),
            ]
            if preparesStatements {
                // A client that stopped in a transaction would keep its locks, and a statement whose client is gone would
                // run on. PgBouncer refuses this parameter.
                let limits = [
                    ("statement_timeout", statementLimit), ("lock_timeout", statementLimit / 2),
                    ("idle_in_transaction_session_timeout", .seconds(60)),
                ]
                let options = limits.map { "-c \($0)=\(Int64(($1 / .milliseconds(1)).rounded(.up)))" }
                list.append(("options", (options + Self.planning).joined(separator: " ")))
            }
            list.append(("dbname", address.url.value))
            // Strings are UTF-8.
            list.append(("client_encoding", "UTF8"))
            return list
        }
    }
#endif
