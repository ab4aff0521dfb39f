#if Shared
    package import WaybillOutbox

    /// Reads the state of a shared outbox and of its server, for operators: what is late, what is slow, and what could be
    /// lost. It changes nothing. Each finding costs one statement; the counts read all unfinished rows.
    package enum SharedOutboxHealth {
        /// One finding.
        package struct Finding: Sendable, Hashable {
            package enum Verdict: Sendable, Hashable {
                case ok, failed
                /// Information only.
                case note
            }

            package let name: String
            package let verdict: Verdict
            /// What was found, and the remedy if the verdict is `failed`.
            package let text: String

            init(_ name: String, _ verdict: Verdict, _ text: String) {
                self.name = name
                self.verdict = verdict
                self.text = text
            }
        }

        /// Returns the findings about the outbox at an address.
        ///
        /// - Throws: ``OutboxError`` if the server cannot be reached, or has no outbox.
        package static func findings(_ url: String) async throws(OutboxError) -> [Finding] {
            do throws(PostgresError) {
                let connection = try PostgresConnection(PostgresConfiguration(PostgresAddress(url)))
                do throws(PostgresError) {
                    let found = try await findings(connection)
                    await connection.close()
                    return found
                } catch {
                    await connection.close()
                    throw error
                }
            } catch {
                throw OutboxError(error)
            }
        }

        /// Returns the findings about an outbox.
        ///
        /// - Throws: ``PostgresError`` if the server cannot be reached, or has no outbox.
        package static func findings(_ connection: PostgresConnection) async throws(PostgresError) -> [Finding] {
            let rows = try await connection.run([server, sessions, items, workers, dead, snapshot])
            let now = rows[0][0, 7].integer ?? 0
            return durability(rows[0]) + [sessions(rows[1], limit: rows[0][0, 6].integer ?? 0)]
                + waiting(rows[2], workers: rows[3][0, 0].integer ?? 0, at: now)
                + [workers(rows[3]), vacuum(rows[4]), snapshot(rows[5])]
        }

        // MARK: - Server

        private static let server = PostgresStatement(
            """
            SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('fsync'),
                current_setting('full_page_writes'), current_setting('synchronous_commit'),
                current_setting('synchronous_standby_names'), current_setting('max_connections')::bigint, waybill.wb_now()
            """)

        private static func durability(_ rows: PostgresRows) -> [Finding] {
            let row = rows.rows[0]
            var found = [Finding("server", .note, "PostgreSQL \(row[0].text ?? "")")]
            if row[1].bool == true {
                found.append(
                    Finding(
                        "role", .failed,
                        "The server is a standby, which accepts no uploads. Add target_session_attrs=read-write to the "
                            + "address, with the hosts of all servers."))
            }
            let off = zip(["fsync", "full_page_writes", "synchronous_commit"], row[2...4]).filter { $1.text == "off" }
            found.append(
                off.isEmpty
                    ? Finding("durability", .ok, "commits survive a failure of the server")
                    : Finding(
                        "durability", .failed,
                        "\(off.map(\.0).joined(separator: ", ")) is off, so queued uploads and results can be lost when "
                            + "the server fails. Set it to on in postgresql.conf."))
            let standbys = row[5].text ?? ""
            found.append(
                Finding(
                    "standbys", .note,
                    standbys.isEmpty
                        ? "none synchronous: a failover can lose the last commits"
                        : "synchronous_standby_names is \(standbys)"))
            return found
        }

        // Not pg_stat_activity, which hides the type of the sessions of other roles.
        private static let sessions = PostgresStatement("SELECT sum(numbackends)::bigint FROM pg_stat_database")

        private static func sessions(_ rows: PostgresRows, limit: Int64) -> Finding {
            let used = rows[0, 0].integer ?? 0
            let isFull = Double(used) > 0.9 * Double(limit)
            return Finding(
                "connections", isFull ? .failed : .ok,
                "\(used) of \(limit)"
                    + (isFull ? ". Raise max_connections, or connect through PgBouncer without notifications." : ""))
        }

        // MARK: - Items

        // An item is due from its creation, or from the time that its delay ends.
        private static let items = PostgresStatement(
            """
            SELECT count(*), coalesce(min(i.created_at), 0),
                count(*) FILTER (WHERE d.is_due),
                coalesce(min(greatest(i.run_at, i.created_at)) FILTER (WHERE d.is_due), 0),
                count(*) FILTER (WHERE i.state = 3)
            FROM waybill.item i LEFT JOIN waybill.lane l ON l.name = i.lane,
                (SELECT waybill.wb_now() AS t) clock,
                LATERAL (SELECT i.state IN (0, 2) AND i.after IS NULL AND i.run_at <= clock.t
                    AND l.blocked IS NULL AND coalesce(l.rests_until, 0) <= clock.t AS is_due) d
            """)

        private static func waiting(_ rows: PostgresRows, workers: Int64, at now: Int64) -> [Finding] {
            let row = rows.rows[0].map { $0.integer ?? 0 }
            let (count, oldest, due, since, doubtful) = (row[0], row[1], row[2], row[3], row[4])
            var found = [
                Finding(
                    "items", .note,
                    count == 0 ? "none unfinished" : "\(count) unfinished, the oldest of \(age(now - oldest)) ago")
            ]
            let lag = due == 0 ? 0 : now - since
            if lag <= longestLag {
                found.append(Finding("lag", .ok, due == 0 ? "no item is due" : "\(due) items are due, for \(age(lag))"))
            } else {
                let remedy =
                    workers == 0
                    ? "No worker runs: start waybill outbox run." : "Start more workers, or raise their limits."
                found.append(Finding("lag", .failed, "\(due) items are due, the first for \(age(lag)). \(remedy)"))
            }
            if doubtful > 0 {
                found.append(Finding("interrupted", .note, "\(doubtful) deliveries wait for their verification"))
            }
            return found
        }

        /// The time in milliseconds after which a due item is late.
        private static let longestLag: Int64 = 300_000

        private static let workers = PostgresStatement(
            """
            SELECT count(*) FILTER (WHERE until > t), count(DISTINCT host) FILTER (WHERE until > t),
                (SELECT count(*) FROM waybill.item i WHERE i.token IS NOT NULL AND NOT EXISTS (
                    SELECT FROM waybill.worker w WHERE w.token = i.token AND w.until > t))
            FROM (SELECT waybill.wb_now() AS t) clock LEFT JOIN waybill.worker ON true GROUP BY t
            """)

        private static func workers(_ rows: PostgresRows) -> Finding {
            let row = rows.rows[0].map { $0.integer ?? 0 }
            let left = row[2] == 0 ? "" : "; \(row[2]) leases ended with their workers, and are verified next"
            return Finding("workers", .note, "\(row[0]) on \(row[1]) hosts\(left)")
        }

        // MARK: - Speed

        private static let dead = PostgresStatement(
            """
            SELECT relname::text, n_live_tup, n_dead_tup FROM pg_stat_user_tables
            WHERE schemaname = 'waybill' ORDER BY n_dead_tup DESC LIMIT 1
            """)

        private static func vacuum(_ rows: PostgresRows) -> Finding {
            guard let row = rows.rows.first else { return Finding("dead rows", .note, "no statistics exist") }
            let (table, live, dead) = (row[0].text ?? "", row[1].integer ?? 0, row[2].integer ?? 0)
            let isSlow = dead > max(fewDeadRows, 2 * live)
            return Finding(
                "dead rows", isSlow ? .failed : .ok,
                "waybill.\(table) has \(dead) dead rows beside \(live)"
                    + (isSlow
                        ? ", which delays leases. Run VACUUM waybill.\(table), and check that autovacuum is on." : ""))
        }

        private static let fewDeadRows: Int64 = 20_000

        // VACUUM removes no row that the oldest snapshot may see.
        static let snapshot = PostgresStatement(
            """
            SELECT * FROM (
                SELECT 'session ' || pid || coalesce(' of ' || nullif(application_name, ''), '') AS holder,
                    coalesce((extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint, 0) AS age,
                    'End its transaction, or run SELECT pg_terminate_backend(' || pid || ').' AS remedy
                FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
                UNION ALL
                SELECT 'prepared transaction ' || gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::bigint,
                    'Run COMMIT PREPARED or ROLLBACK PREPARED.'
                FROM pg_prepared_xacts WHERE database = current_database()
            ) holders ORDER BY age DESC LIMIT 1
            """)

        static func snapshot(_ rows: PostgresRows) -> Finding {
            guard let row = rows.rows.first, let age = row[1].integer, age > longestSnapshot else {
                return Finding("oldest snapshot", .ok, "no transaction is open for more than a minute")
            }
            return Finding(
                "oldest snapshot", .failed,
                "The \(row[0].text ?? "") has been open for \(Self.age(age)), so VACUUM cannot remove rows and leases "
                    + "become slower. \(row[2].text ?? "")")
        }

        private static let longestSnapshot: Int64 = 60_000

        private static func age(_ milliseconds: Int64) -> String {
            let seconds = max(0, milliseconds / 1_000)
            return switch seconds {
            case ..<120: "\(seconds) s"
            case ..<7_200: "\(seconds / 60) min"
            case ..<172_800: "\(seconds / 3_600) h"
            default: "\(seconds / 86_400) days"
            }
        }
    }
#endif
