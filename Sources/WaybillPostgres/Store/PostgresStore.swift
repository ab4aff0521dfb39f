#if Shared
    import WaybillCore
    package import WaybillOutbox

    /// A store of items in PostgreSQL, shared by the workers of several machines.
    ///
    /// All times are those of the server. A lease ends when its worker has not renewed it for ``leaseDuration``. A report
    /// under the number of an earlier lease changes nothing, so that a statement may be repeated whatever became of its
    /// connection. Two connections are used: one for changes and renewals, and one for queries, purges and notifications.
    package final class PostgresStore: OutboxStore {
        package var executor: (any TaskExecutor)? { main.executor }
        package var leaseDuration: Duration? { options.leaseDuration }
        package var wakeups: AsyncStream<Void> { signals.stream() }

        let options: PostgresOptions
        /// For changes and renewals.
        let main: PostgresConnection
        /// For what may take long, and for notifications.
        let side: PostgresConnection
        let signals: ChangeSignals
        /// The items that this store leases, as their rows are, without the specification.
        let leased = Locked<[Int64: Boxed<SharedItem>]>([:])
        /// Whether a lease may have been made whose response was lost.
        let mayHoldUnknown = Locked(false)
        let host: String

        /// Connects to a database, and creates or migrates the tables.
        ///
        /// - Parameters:
        ///   - url: `postgresql://user:password@host:port/database?option=value`, with the options of libpq. A password
        ///     is better kept in `PGPASSFILE` or a service file.
        ///   - options: The options.
        /// - Throws: ``OutboxError``: `storeUnreachable` without a server, `queueUnusable` if the URL is invalid, if the
        ///   server refuses the user, or if the tables belong to a newer release.
        package init(_ url: String, options: PostgresOptions = PostgresOptions()) async throws(OutboxError) {
            var options = options
            host = HostName.current
            do throws(PostgresError) {
                let address = try PostgresAddress(url)
                options.usesPooler = options.usesPooler || address.usesPooler
                self.options = options
                var configuration = PostgresConfiguration(address, applicationName: "waybill/\(host)")
                configuration.preparesStatements = !options.usesPooler
                configuration.statementLimit = options.statementLimit
                main = try PostgresConnection(configuration)
                side = try PostgresConnection(configuration)
            } catch {
                throw OutboxError(error)
            }
            signals = ChangeSignals(
                side, listens: options.notifies && !options.usesPooler, interval: options.pollInterval)
            do throws(OutboxError) {
                try await attempt { [side, creates = self.options.createsTables] (_) async throws(PostgresError) in
                    try await SharedSchema.prepare(side, creating: creates)
                }
                try await attempt { [self] (_) async throws(PostgresError) in try await makePartitions() }
            } catch {
                await close()
                throw error
            }
        }

        package func close() async {
            await signals.close()
            await main.close()
            await side.close()
        }

        // MARK: Repeating

        /// Performs work, and repeats it after a lost connection or a conflict with another transaction.
        ///
        /// The work continues when the calling task is cancelled: an interrupted statement would end the connection, and
        /// with it the statements of other calls.
        ///
        /// - Parameter work: Performs statements. Its parameter is whether an earlier attempt may have been committed.
        /// - Returns: The result of `work`.
        /// - Throws: ``OutboxError`` after the last attempt.
        func attempt<Value: Sendable>(
            _ work: @escaping @Sendable (_ mayBeDone: Bool) async throws(PostgresError) -> Value
        ) async throws(OutboxError) -> Value {
            let task = Task(executorPreference: main.executor) { [self] () -> Result<Value, OutboxError> in
                await repeating(work)
            }
            return try await task.value.get()
        }

        private func repeating<Value: Sendable>(
            _ work: @Sendable (_ mayBeDone: Bool) async throws(PostgresError) -> Value
        ) async -> Result<Value, OutboxError> {
            let deadline = ContinuousClock.now + options.patience
            var (failures, conflicts, mayBeDone) = (0, 0, false)
            while true {
                do throws(PostgresError) {
                    return .success(try await work(mayBeDone))
                } catch {
                    // A key that was generated for this call can exist only by an earlier attempt.
                    mayBeDone = mayBeDone || error.isOutcomeUnknown || error.kind == .uniqueViolation
                    switch error.kind {
                    case .conflict, .uniqueViolation:
                        conflicts += 1
                        guard conflicts < Self.maxConflicts else { return .failure(OutboxError(error)) }
                        // Those that conflicted must not meet again.
                        try? await Task.sleep(
                            for: Self.conflictDelay.delay(after: conflicts, jitter: .random(in: 0...1)))
                    case .rejected where error.sqlState == Self.noPartition:
                        conflicts += 1
                        guard conflicts < Self.maxConflicts else { return .failure(OutboxError(error)) }
                        _ = try? await makePartitions()
                    case .connectionLost, .readOnly:
                        failures += 1
                        guard ContinuousClock.now < deadline else { return .failure(OutboxError(error)) }
                        try? await Task.sleep(for: Self.retryDelay.delay(after: failures, jitter: .random(in: 0.5...1)))
                    default: return .failure(OutboxError(error))
                    }
                }
            }
        }

        /// Performs a transaction that reads rows, changes them by rules, and writes them. If the response to its commit
        /// is lost, the server is asked whether it was committed.
        ///
        /// - Parameters:
        ///   - connection: The connection.
        ///   - first: The statements that lock and read rows.
        ///   - plan: Returns the statements that write, and the result. It receives the rows and the time.
        /// - Returns: The result of `plan`.
        /// - Throws: ``PostgresError``. The transaction was rolled back unless `isOutcomeUnknown` is set.
        func change<Value: Sendable>(
            on connection: PostgresConnection, reading first: [PostgresStatement],
            _ plan: ([PostgresRows], Int64) -> (statements: [PostgresStatement], value: Value)
        ) async throws(PostgresError) -> Value {
            var planned: (transaction: Transaction, value: Value)?
            do throws(PostgresError) {
                return try await connection.transaction(reading: first + [Self.readClock]) { rows in
                    let last = rows[rows.count - 1]
                    let plan = plan(rows.dropLast(), last[0, 0].integer ?? 0)
                    planned = (Transaction(id: last[0, 1].text ?? "", timeline: last[0, 2].text ?? ""), plan.value)
                    return plan
                }
            } catch {
                guard error.isOutcomeUnknown, let planned else { throw error }
                guard try await isCommitted(planned.transaction, connection) else {
                    throw error.withUnknownOutcome(false)
                }
                return planned.value
            }
        }

        /// A transaction, and the timeline of the server on which it began. A standby that takes over begins another one,
        /// and may use the number of a transaction again that it had not received.
        struct Transaction {
            let id: String
            let timeline: String
        }

        /// Asks the server about a transaction whose connection was lost; waits while it is in progress.
        ///
        /// - Throws: ``PostgresError`` with an unknown outcome, also if another server has taken over.
        func isCommitted(
            _ transaction: Transaction, _ connection: PostgresConnection
        ) async throws(PostgresError) -> Bool {
            let deadline = ContinuousClock.now + options.patience
            var failures = 0
            while true {
                failures += 1
                do throws(PostgresError) {
                    let rows = try await connection.run([
                        PostgresStatement("SELECT \(Self.timeline)"),
                        PostgresStatement("SELECT pg_xact_status($1::text::xid8)", .text(transaction.id)),
                    ])
                    guard rows[0][0, 0].text == transaction.timeline else { throw Self.takenOver }
                    switch rows[1][0, 0].text {
                    case "committed": return true
                    case "aborted": return false
                    // In progress, or too long ago.
                    default: guard ContinuousClock.now < deadline else { throw Self.undecided }
                    }
                } catch {
                    // The number is unknown to a server that has taken over without this transaction.
                    if error.sqlState == Self.futureTransaction { return false }
                    let isLost = error.kind == .connectionLost || error.kind == .readOnly
                    guard isLost, ContinuousClock.now < deadline else { throw error.withUnknownOutcome(true) }
                }
                try? await Task.sleep(for: Self.retryDelay.delay(after: failures, jitter: .random(in: 0.5...1)))
            }
        }

        // After the locks, so that it is not before the time of a transaction that held them.
        private static let readClock = PostgresStatement(
            "SELECT waybill.wb_now(), pg_current_xact_id()::text, \(timeline)")
        // The first eight digits of the name of a log file.
        private static let timeline = "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
        private static let takenOver = PostgresError(
            .conflict, "Another server has taken over; whether it received the last transaction is unknown.")
        private static let undecided: PostgresError = {
            let error = PostgresError(
                .timeLimit, "The response to a commit was lost, and PostgreSQL did not report its outcome in time.")
            return error.withUnknownOutcome(true)
        }()
        private static let noPartition = "23514"
        private static let futureTransaction = "22023"
        private static let maxConflicts = 100
        private static let conflictDelay = Backoff(from: .milliseconds(2), to: .milliseconds(200))
        private static let retryDelay = Backoff(from: .milliseconds(50), to: .seconds(2))
    }
#endif
