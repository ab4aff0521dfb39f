#if Shared
    public import WaybillOutbox

    extension SharedOutboxStore {
        /// Returns a store in a database of PostgreSQL 14 or later.
        ///
        /// ```swift
        /// configuration.store = try .postgres("postgresql://waybill@db.example/uploads")
        /// ```
        ///
        /// The tables are created in the schema `waybill` when the outbox is opened. Each outbox uses two connections.
        ///
        /// - Parameters:
        ///   - url: `postgresql://user:password@host:port/database?option=value`, with the options of libpq. Add
        ///     `pooler=transaction` if a pooler is in between. Keep the password in `PGPASSFILE` or a service file. A
        ///     password in the URL is never printed.
        ///   - options: The options.
        /// - Returns: The store. Nothing is connected yet.
        /// - Throws: ``OutboxError/Code/queueUnusable`` if the URL is invalid.
        public static func postgres(
            _ url: String, options: PostgresOptions = PostgresOptions()
        ) throws(OutboxError) -> SharedOutboxStore {
            let address: PostgresAddress
            do {
                address = try PostgresAddress(url)
            } catch {
                throw OutboxError(error)
            }
            return SharedOutboxStore(address.description) { () async throws(OutboxError) in
                try await PostgresStore(url, options: options)
            }
        }
    }
#endif
