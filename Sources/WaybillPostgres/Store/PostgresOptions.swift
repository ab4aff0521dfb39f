#if Shared
    /// The options of an outbox in PostgreSQL.
    public struct PostgresOptions: Sendable, Hashable {
        /// The time after which the deliveries of a worker that does not respond are verified by another; at least four
        /// seconds. A worker renews its leases four times as often. 60 seconds by default.
        public var leaseDuration = Duration.seconds(60)
        /// Whether a pooler in transaction mode, such as PgBouncer, is between this program and the server. Then no
        /// statement is prepared, and new items of other machines are noticed by polling only. The parameter
        /// `pooler=transaction` in the URL sets it, too.
        public var usesPooler = false
        /// The time for which an operation waits while the server cannot be reached. 10 seconds by default.
        public var patience = Duration.seconds(10)
        /// The time limit of one statement or short transaction. 30 seconds by default.
        public var statementLimit = Duration.seconds(30)
        /// The longest time between two queries for items that other machines have enqueued. 2 seconds by default.
        public var pollInterval = Duration.seconds(2)
        /// The time for which ``PostgresStore/results(after:limit:)`` waits for older transactions.
        package var resultPatience = Duration.seconds(1)

        /// Whether the tables are created in a database that has none. Otherwise this is an error.
        package var createsTables = true

        /// Whether notifications are sent and received.
        package var notifies = true

        /// Creates options with the default values.
        public init() {}
    }
#endif
