#if Shared
    import Glibc
    import WaybillCore

    /// A message of a connection that listens.
    package enum PostgresSignal: Sendable, Hashable {
        /// `NOTIFY` by any session.
        case notification(channel: String, payload: String)
        /// The connection was lost and exists again: notifications may have been missed.
        case reconnected
    }

    /// A connection to PostgreSQL, driven by a thread of its own; it connects when it is first used, and again after it was
    /// lost. Concurrent calls share it: their statements are sent without waiting for the results of others.
    ///
    /// ```swift
    /// let connection = try PostgresConnection(PostgresConfiguration(address))
    /// let rows = try await connection.run(PostgresStatement("SELECT id FROM item WHERE lane = $1", .text("a")))
    /// ```
    package final class PostgresConnection: Sendable {
        private let configuration: PostgresConfiguration
        private let inbox: ConnectionInbox
        private let numbers = Locked<UInt64>(0)
        /// What arrives on the channels of ``listen(to:)``; finished by ``close()``. At most 64 messages are kept for a
        /// reader that does not keep up. The stream has one reader.
        package let signals: AsyncStream<PostgresSignal>
        /// An executor on the connection's thread, for tasks that perform successive statements. They must not block.
        package let executor: any TaskExecutor

        /// Creates a connection, without connecting.
        ///
        /// - Throws: ``PostgresError`` if no thread or no file descriptor is available.
        package init(_ configuration: PostgresConfiguration) throws(PostgresError) {
            guard let inbox = ConnectionInbox() else { throw Self.noResources }
            let (stream, continuation) = AsyncStream.makeStream(
                of: PostgresSignal.self, bufferingPolicy: .bufferingNewest(64))
            self.configuration = configuration
            self.inbox = inbox
            signals = stream
            executor = ConnectionExecutor(inbox)
            let isStarted = BlockingThread.start {
                var thread = ConnectionThread(configuration, inbox, continuation)
                thread.run()
            }
            guard isStarted else { throw Self.noResources }
        }

        // The thread retains the inbox, not the connection.
        deinit { inbox.post(.close {}) }

        /// Performs a statement in a transaction of its own.
        @discardableResult
        package func run(
            _ statement: PostgresStatement, within limit: Duration? = nil
        ) async throws(PostgresError) -> PostgresRows {
            try await run([statement], within: limit).last ?? PostgresRows(rows: [], tag: "")
        }

        /// Performs statements in one transaction, in one round trip.
        ///
        /// - Parameters:
        ///   - statements: The statements, without BEGIN and COMMIT.
        ///   - limit: The time limit; `nil` for that of the configuration.
        /// - Returns: The rows of each statement.
        /// - Throws: ``PostgresError``. The transaction was rolled back unless `isOutcomeUnknown` is set.
        @discardableResult
        package func run(
            _ statements: [PostgresStatement], within limit: Duration? = nil
        ) async throws(PostgresError) -> [PostgresRows] {
            try await perform(statements, within: limit)
        }

        /// Performs a transaction in which statements depend on the rows of earlier ones. Other callers of the connection
        /// wait until it ends, so it must not wait for anything else.
        ///
        /// - Parameter work: Runs statements of the transaction. An error that it throws rolls the transaction back.
        /// - Returns: The result of `work`.
        /// - Throws: ``PostgresError`` of `work`, or of the commit.
        package func transaction<Value: Sendable>(
            _ work: (PostgresTransaction) async throws(PostgresError) -> Value
        ) async throws(PostgresError) -> Value {
            let transaction = PostgresTransaction(number: nextNumber(), connection: self)
            do throws(PostgresError) {
                _ = try await transaction.perform([PostgresStatement("BEGIN")], .first)
                let value = try await work(transaction)
                let end = try await transaction.perform([PostgresStatement("COMMIT")], .last)
                // The server rolls back a transaction in which a statement failed, whatever `work` made of the failure.
                guard end.last?.tag == "COMMIT" else { throw Self.rolledBack }
                return value
            } catch {
                await transaction.rollBack()
                throw error
            }
        }

        /// Performs a transaction of two round trips: statements, and those that their rows lead to.
        ///
        /// - Parameters:
        ///   - first: The statements that read and lock rows.
        ///   - plan: Returns the statements that change rows, and the result of the transaction.
        /// - Returns: The result of `plan`.
        /// - Throws: ``PostgresError``. The transaction was rolled back unless `isOutcomeUnknown` is set.
        package func transaction<Value: Sendable>(
            reading first: [PostgresStatement],
            _ plan: ([PostgresRows]) -> (statements: [PostgresStatement], value: Value)
        ) async throws(PostgresError) -> Value {
            let transaction = PostgresTransaction(number: nextNumber(), connection: self)
            do throws(PostgresError) {
                let rows = try await transaction.perform([PostgresStatement("BEGIN")] + first, .first)
                let (statements, value) = plan(Array(rows.dropFirst()))
                let end = try await transaction.perform(statements + [PostgresStatement("COMMIT")], .last)
                guard end.last?.tag == "COMMIT" else { throw Self.rolledBack }
                return value
            } catch {
                await transaction.rollBack()
                throw error
            }
        }

        /// Listens to a channel, from now on and after each new connection, which is then made without a call. Its
        /// messages arrive in ``signals``.
        package func listen(to channel: String) async throws(PostgresError) {
            _ = try await perform([.listen(to: channel)], channel: channel)
        }

        /// Closes the connection. Unfinished statements fail with an error of the kind `closed`. Returns when the thread has closed its socket.
        package func close() async {
            await withCheckedContinuation { continuation in
                if !inbox.post(.close { continuation.resume() }) { continuation.resume() }
            }
        }

        fileprivate func perform(
            _ statements: [PostgresStatement], within limit: Duration? = nil, transaction: UInt64? = nil,
            place: Pipeline.Place = .whole, channel: String? = nil
        ) async throws(PostgresError) -> [PostgresRows] {
            for statement in statements { try statement.check() }
            guard !Task.isCancelled else { throw Self.cancelled }
            let number = nextNumber()
            let batch = Pipeline.Batch(
                number: number, statements: statements, transaction: transaction, place: place)
            let deadline = ContinuousClock.now + (limit ?? configuration.statementLimit)
            let result: Result<[PostgresRows], PostgresError> = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let job = ConnectionJob(batch: batch, deadline: deadline, channel: channel) {
                        continuation.resume(returning: $0)
                    }
                    if !inbox.post(.perform(job)) { continuation.resume(returning: .failure(Self.closed)) }
                    // The handler may have run before the job was posted.
                    if Task.isCancelled { inbox.post(.cancel(number)) }
                }
            } onCancel: {
                inbox.post(.cancel(number))
            }
            return try result.get()
        }

        private func nextNumber() -> UInt64 {
            numbers.withLock { number in
                number += 1
                return number
            }
        }

        private static let noResources = PostgresError(
            .connectionLost, "No thread or file descriptor is available for a connection to PostgreSQL.")
        private static let rolledBack = PostgresError(
            .rejected, "The transaction was rolled back, because a statement in it had failed.")
        static let cancelled = PostgresError(.cancelled, "The task was cancelled before PostgreSQL responded.")
        static let closed = PostgresError(.closed, "The connection to PostgreSQL was closed. Open it again.")
    }

    /// A transaction of several round trips.
    package struct PostgresTransaction: Sendable {
        fileprivate let number: UInt64
        fileprivate let connection: PostgresConnection

        /// Performs statements in one round trip.
        @discardableResult
        package func run(_ statements: [PostgresStatement]) async throws(PostgresError) -> [PostgresRows] {
            try await perform(statements, .middle)
        }

        /// Rolls back, also after a cancellation of the task: other callers of the connection wait for the end of the
        /// transaction. If the connection was lost, the server rolls back, and this fails at once.
        fileprivate func rollBack() async {
            let rollback = Task { [self] in try await perform([PostgresStatement("ROLLBACK")], .last) }
            _ = await rollback.result
        }

        fileprivate func perform(
            _ statements: [PostgresStatement], _ place: Pipeline.Place
        ) async throws(PostgresError) -> [PostgresRows] {
            try await connection.perform(statements, transaction: number, place: place)
        }
    }
#endif
