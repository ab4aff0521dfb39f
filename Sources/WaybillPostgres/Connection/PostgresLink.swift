#if Shared
    import CWaybillPostgres
    import Glibc

    /// A connection of libpq, which is used by one thread: calls of C with values of Swift. It never blocks, except while a
    /// host name is looked up.
    ///
    /// The owner must call ``close()``.
    @safe struct PostgresLink {
        /// What the socket is to be polled for.
        enum Interest { case nothing, reading, writing }

        private let connection: OpaquePointer
        /// The socket. It can change with each call of ``connect()``.
        var socket: Int32 { unsafe wb_pg_socket(connection) }
        /// The message of libpq for the last failure.
        var message: String { unsafe String(cString: wb_pg_message(connection)) }

        /// Starts to connect. Returns `nil` without memory.
        init?(_ keywords: [(name: String, value: String)]) {
            let names = unsafe keywords.map { unsafe UnsafePointer(strdup($0.name)) } + [nil]
            let values = unsafe keywords.map { unsafe UnsafePointer(strdup($0.value)) } + [nil]
            defer { unsafe (names + values).forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
            guard let connection = unsafe wb_pg_start(names, values) else { return nil }
            unsafe self.connection = connection
        }

        /// Continues to connect, when the socket is ready. Returns `nothing` after connecting, and `nil` on a failure.
        func connect() -> Interest? {
            switch Int(unsafe wb_pg_connect(connection)) {
            case wb_pg_done: .nothing
            case wb_pg_wants_read: .reading
            case wb_pg_wants_write: .writing
            default: nil
            }
        }

        func close() { unsafe wb_pg_close(connection) }

        /// Returns a closure that asks the server to cancel the running statement. It blocks, and may be called after
        /// ``close()``.
        func cancellation() -> (@Sendable () -> Void)? {
            guard let cancellation = unsafe wb_pg_cancellation_make(connection) else { return nil }
            let address = UInt(bitPattern: cancellation)
            return { unsafe wb_pg_cancel(OpaquePointer(bitPattern: address)!) }
        }

        /// Adds a command to the output.
        ///
        /// - Returns: Whether libpq accepted it.
        func add(_ command: Pipeline.Command) -> Bool {
            switch command {
            case .sync: return unsafe wb_pg_sync(connection) == 1
            case .prepare(let name, let statement):
                let types = statement.parameters.map(\.oid)
                return unsafe wb_pg_prepare(connection, name, statement.sql, Int32(types.count), types) == 1
            case .perform(let statement, let name):
                let types = statement.parameters.map(\.oid)
                let count = Int32(types.count)
                var bytes: [UInt8] = []
                let lengths = statement.parameters.map { value -> Int32 in
                    let start = bytes.count
                    return BinaryFormat.encode(value, into: &bytes) ? Int32(clamping: bytes.count - start) : -1
                }
                guard let name else {
                    return unsafe wb_pg_run(connection, statement.sql, count, types, bytes, lengths) == 1
                }
                return unsafe wb_pg_run_prepared(connection, name, count, bytes, lengths) == 1
            }
        }

        /// Sends what the socket accepts. Returns whether the rest is `nothing` or waits for `writing`; `nil` on a failure.
        func flush() -> Interest? {
            switch Int(unsafe wb_pg_flush(connection)) {
            case wb_pg_done: .nothing
            case wb_pg_wants_write: .writing
            default: nil
            }
        }

        /// Reads what has arrived.
        ///
        /// - Returns: Whether the connection still exists.
        func receive() -> Bool { unsafe wb_pg_receive(connection) == 1 }

        /// Whether ``next()`` would block.
        var isBusy: Bool { unsafe wb_pg_is_busy(connection) != 0 }

        /// Returns the next result; `nil` between the results of two commands.
        func next() throws(BinaryFormat.Malformed) -> Pipeline.Received? {
            guard let result = unsafe wb_pg_next(connection) else { return nil }
            defer { unsafe wb_pg_result_free(result) }
            switch Int(unsafe wb_pg_result_kind(result)) {
            case wb_pg_rows: return .rows(try unsafe Self.rows(result))
            case wb_pg_aborted: return .aborted
            case wb_pg_synced: return .synced
            default:
                func field(_ number: Int) -> String? {
                    guard let text = unsafe wb_pg_error_field(result, Int32(number)) else { return nil }
                    return unsafe String(cString: text)
                }
                return .failed(
                    PostgresError(
                        sqlState: field(wb_pg_sqlstate), message: field(wb_pg_primary) ?? message,
                        constraint: field(wb_pg_constraint), function: field(wb_pg_function)))
            }
        }

        /// Returns a notification that has arrived.
        func nextNotification() -> PostgresSignal? {
            guard let found = unsafe wb_pg_notified(connection) else { return nil }
            defer { unsafe wb_pg_notification_free(found) }
            return unsafe .notification(
                channel: String(cString: wb_pg_notification_channel(found)),
                payload: String(cString: wb_pg_notification_payload(found)))
        }

        private static func rows(_ result: OpaquePointer) throws(BinaryFormat.Malformed) -> PostgresRows {
            let columns = unsafe 0..<wb_pg_column_count(result)
            let types = columns.map { column in
                let oid = unsafe wb_pg_column_type(result, column)
                return (oid: oid, known: PostgresType(oid: oid))
            }
            var rows: [[PostgresValue]] = []
            let count = unsafe wb_pg_row_count(result)
            rows.reserveCapacity(Int(count))
            for row in 0..<count {
                var values: [PostgresValue] = []
                values.reserveCapacity(types.count)
                for column in columns {
                    let type = types[Int(column)]
                    var length: Int32 = 0
                    guard let bytes = unsafe wb_pg_value(result, row, column, &length) else {
                        values.append(type.known.map(PostgresValue.null) ?? .other(oid: type.oid, nil))
                        continue
                    }
                    let span = unsafe Span(_unsafeStart: bytes, count: Int(length))
                    values.append(try BinaryFormat.decode(span, oid: type.oid, type.known))
                }
                rows.append(values)
            }
            return PostgresRows(rows: rows, tag: unsafe String(cString: wb_pg_tag(result)))
        }
    }
#endif
