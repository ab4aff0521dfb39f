#if Shared
    import CWaybillPostgres
    import Glibc
    import WaybillCore

    /// A command from another thread to the thread of a connection.
    enum ConnectionCommand: Sendable {
        case perform(ConnectionJob)
        /// The task that waits for a batch was cancelled.
        case cancel(UInt64)
        case close(@Sendable () -> Void)
    }

    /// A batch with its caller.
    struct ConnectionJob: Sendable {
        let batch: Pipeline.Batch
        let deadline: ContinuousClock.Instant
        /// The channel to which the batch listens.
        var channel: String?
        let finish: @Sendable (Result<[PostgresRows], PostgresError>) -> Void
    }

    /// The command queue of a connection's thread.
    final class ConnectionInbox: Sendable {
        private struct State {
            var commands: [ConnectionCommand] = []
            var isClosed = false
        }

        private let state = Locked(State())
        /// Readable while there are commands: eventfd(2).
        let descriptor: Int32

        /// Returns `nil` if no file descriptor is available.
        init?() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            guard descriptor >= 0 else { return nil }
        }

        deinit { Glibc.close(descriptor) }

        /// Appends a command.
        ///
        /// - Returns: Whether there is a thread that will take it.
        @discardableResult
        func post(_ command: ConnectionCommand) -> Bool {
            let isOpen = state.withLock { state in
                if !state.isClosed { state.commands.append(command) }
                return !state.isClosed
            }
            if isOpen { eventfd_write(descriptor, 1) }
            return isOpen
        }

        /// Removes and returns all commands.
        func take() -> [ConnectionCommand] {
            var count: eventfd_t = 0
            unsafe eventfd_read(descriptor, &count)
            return state.withLock { state in
                defer { state.commands = [] }
                return state.commands
            }
        }

        /// Refuses further commands and returns those that were not taken.
        func close() -> [ConnectionCommand] {
            state.withLock { state in
                defer { state.commands = [] }
                state.isClosed = true
                return state.commands
            }
        }
    }
#endif
