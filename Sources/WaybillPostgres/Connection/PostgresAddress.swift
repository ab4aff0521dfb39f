#if Shared
    import CWaybillPostgres
    import WaybillCore

    /// The URL of a database. It prints without its password.
    package struct PostgresAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
        /// The parameters of libpq that select one server.
        struct Host: Sendable, Hashable {
            let parameters: [String: String]
        }

        /// The URL with its password, without the parameters of Waybill.
        let url: Secret
        /// The servers, in the order of the URL; at least one. libpq would try them in one attempt, in which a server that
        /// does not respond has no time limit of its own.
        let hosts: [Host]
        /// Whether the URL has the parameter `pooler=transaction`.
        package let usesPooler: Bool
        /// The URL without passwords and options.
        package let description: String
        package var debugDescription: String { description }

        /// - Parameter url: `postgresql://user:password@host:port/database?option=value`, with the options of libpq and
        ///   `pooler=transaction`; for a socket in a directory, `postgresql:///database?host=/directory`.
        /// - Throws: ``PostgresError`` of the kind `invalidURL`.
        package init(_ url: String) throws(PostgresError) {
            guard let scheme = Self.schemes.first(where: url.hasPrefix), !url.utf8.contains(0) else {
                throw PostgresError(.invalidURL, Self.remedy)
            }
            let (stripped, pooler) = Self.removePooler(url, scheme)
            guard pooler.allSatisfy({ $0 == "transaction" }) else {
                throw PostgresError(.invalidURL, "The parameter pooler in the URL of PostgreSQL must be transaction.")
            }
            usesPooler = !pooler.isEmpty
            guard let parts = unsafe wb_pg_parse(stripped) else { throw PostgresError(.invalidURL, Self.remedy) }
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
            guard let hosts = Self.hosts(part) else {
                throw PostgresError(
                    .invalidURL, "The numbers of hosts, addresses and ports in the URL of PostgreSQL are different.")
            }
            let isDirectory = host.hasPrefix("/")
            let user = part("user").map { $0 + (part("password") == nil ? "" : ":\(Secret.placeholder)") + "@" } ?? ""
            let port = part("port").map { isDirectory ? "&port=\($0)" : ":\($0)" } ?? ""
            description =
                "postgresql://" + user + (isDirectory ? "" : host + port) + "/" + (part("dbname") ?? "")
                + (isDirectory ? "?host=\(host)\(port)" : "")
            self.url = .secret(stripped)
            self.hosts = hosts
        }

        /// Splits the lists of hosts as libpq does: one port is that of all hosts.
        private static func hosts(_ part: (String) -> String?) -> [Host]? {
            let lists = ["host", "hostaddr", "port"].map { name in
                (name, (part(name) ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init))
            }
            let count = max(1, lists[0].1.count, lists[1].1.count)
            guard lists.allSatisfy({ [0, 1, count].contains($0.1.count) }) else { return nil }
            for (name, list) in lists where name != "port" && list.count == 1 && count > 1 && list != [""] {
                return nil
            }
            return (0..<count).map { index in
                var parameters: [String: String] = [:]
                for (name, list) in lists where part(name) != nil {
                    parameters[name] = list.count == 1 ? list[0] : list[index]
                }
                return Host(parameters: parameters)
            }
        }

        /// Removes the parameters `pooler`, which libpq would refuse.
        ///
        /// - Returns: The rest, and the values of the parameters.
        private static func removePooler(_ url: String, _ scheme: String) -> (rest: String, values: [Substring]) {
            // The user information, which may contain "?", ends at the first "@" before a "/".
            let start = url.index(url.startIndex, offsetBy: scheme.count)
            let end = url[start...].firstIndex { $0 == "@" || $0 == "/" }
            let host = end.flatMap { url[$0] == "@" ? $0 : nil } ?? start
            guard let query = url[host...].firstIndex(of: "?") else { return (url, []) }
            let all = url[url.index(after: query)...].split(separator: "&", omittingEmptySubsequences: false)
            let values = all.compactMap { parameter -> Substring? in
                let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return pair[0] == "pooler" ? pair.count == 2 ? pair[1] : "" : nil
            }
            guard !values.isEmpty else { return (url, []) }
            let rest = all.filter { $0 != "pooler" && !$0.hasPrefix("pooler=") }
            return (String(url[..<query]) + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&")), values)
        }

        private static let schemes = ["postgresql://", "postgres://"]
        private static let remedy =
            "The URL of PostgreSQL is invalid. Use postgresql://user@host:5432/database, options that libpq knows, and"
            + " percent-encode special characters."
    }

    /// The settings of a connection.
    package struct PostgresConfiguration: Sendable, Hashable {
        package var address: PostgresAddress
        /// The name that the server shows for the connection.
        package var applicationName: String
        /// Whether statements are prepared on their first use. Disable it for a pooler in transaction mode, such as
        /// PgBouncer before version 1.21.
        package var preparesStatements: Bool
        /// The time limit for connecting, divided among the hosts of the URL. Looking up a host name counts, but is not
        /// interrupted.
        package var connectLimit = Duration.seconds(10)
        /// The time limit for statements, from the call until the result, including connecting.
        package var statementLimit = Duration.seconds(30)

        package init(_ address: PostgresAddress, applicationName: String = "waybill") {
            self.address = address
            self.applicationName = applicationName
            preparesStatements = !address.usesPooler
        }

        // The tables of a queue change faster than their statistics: each statement has an index, and planning costs more
        // than most statements. Compiling one that is expected to read many rows, but does not, takes seconds.
        static let planning = [
            ("jit", "off"), ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"),
        ]

        /// The parameters for libpq. Those of the URL, in `dbname`, override those before it.
        func keywords(_ host: PostgresAddress.Host) -> [(name: String, value: String)] {
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
                let options = limits.map { ($0, "\(Int64(($1 / .milliseconds(1)).rounded(.up)))") } + Self.planning
                list.append(("options", options.map { "-c \($0)=\($1)" }.joined(separator: " ")))
            }
            list.append(("dbname", address.url.value))
            list += host.parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            // Strings are UTF-8.
            list.append(("client_encoding", "UTF8"))
            return list
        }
    }
#endif
