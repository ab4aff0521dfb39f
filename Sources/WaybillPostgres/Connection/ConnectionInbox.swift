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
        /// Runs a job of a Swift task on the thread.
        case run(UnownedJob, ConnectionExecutor)
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
            /// Whether the thread takes commands again before it sleeps.
            var isAwake = true
        }

        private let state = Locked(State())
        /// Readable if a command was posted while the thread slept: eventfd(2).
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
            let (isOpen, isSleeping) = state.withLock { state in
                guard !state.isClosed else { return (false, false) }
                state.commands.append(command)
                defer { state.isAwake = true }
                return (true, !state.isAwake)
            }
            if isSleeping { eventfd_write(descriptor, 1) }
            return isOpen
        }

        var hasCommands: Bool { state.withLock { !$0.commands.isEmpty } }

        /// Removes and returns all commands.
        func take() -> [ConnectionCommand] {
            state.withLock { state in
                defer { state.commands = [] }
                return state.commands
            }
        }

        /// Announces that the thread will sleep. Returns `false` if there are commands.
        func willSleep() -> Bool {
            state.withLock { state in
                state.isAwake = !state.commands.isEmpty
                return !state.isAwake
            }
        }

        /// Announces that the thread no longer sleeps.
        ///
        /// - Parameter wasWoken: Whether ``descriptor`` is readable.
        func didSleep(wasWoken: Bool) {
            var count: eventfd_t = 0
            if wasWoken { unsafe eventfd_read(descriptor, &count) }
            state.withLock { $0.isAwake = true }
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

    /// Runs tasks on the thread of a connection: they continue after a statement without a change of threads.
    ///
    /// All statements of the connection wait while a job runs, so a job must not block.
    final class ConnectionExecutor: TaskExecutor {
        private let inbox: ConnectionInbox

        init(_ inbox: ConnectionInbox) {
            self.inbox = inbox
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            // After the end of the thread, the task continues elsewhere.
            if !inbox.post(.run(job, self)) { globalConcurrentExecutor.enqueue(job) }
        }
    }
#endif
