#if Shared
    import Glibc
    import WaybillCore

    /// The loop that drives one connection: it takes commands, moves bytes between libpq and the ``Pipeline``, and sleeps
    /// in poll(2). Only a host name look-up blocks it.
    struct ConnectionThread {
        private enum Phase {
            case idle
            case connecting(until: ContinuousClock.Instant)
            case open
        }

        private let configuration: PostgresConfiguration
        private let inbox: ConnectionInbox
        private let signals: AsyncStream<PostgresSignal>.Continuation
        private var pipeline: Pipeline
        private var jobs: [UInt64: ConnectionJob] = [:]
        private var phase = Phase.idle
        private var link: PostgresLink?
        private var interest = PostgresLink.Interest.nothing
        private var isSocketReady = false
        /// The channels to which the server is to listen again after each connection.
        private var channels: Set<String> = []
        /// The number of the batch with which a new connection begins to listen. No caller waits for it.
        private static let listening: UInt64 = 0
        private var failures = 0
        /// The host to which to connect: the last one that accepted a connection, or the one after the last that did not.
        private var host = 0
        /// The failures of the hosts that were tried since the last connection.
        private var refusals: [PostgresError] = []
        private var retryTime = ContinuousClock.now
        private static let commandsPerFlush = 64
        // A result, the task that continues, and what it sends.
        private static let roundsPerPoll = 3
        private static let retryDelay = Backoff(from: .milliseconds(200), to: .seconds(10))

        init(
            _ configuration: PostgresConfiguration, _ inbox: ConnectionInbox,
            _ signals: AsyncStream<PostgresSignal>.Continuation
        ) {
            self.configuration = configuration
            self.inbox = inbox
            self.signals = signals
            pipeline = Pipeline(isPreparing: configuration.preparesStatements)
        }

        /// Runs until the connection is closed by its owner.
        mutating func run() {
            while true {
                // A task that continues after a result posts its next statements: they are sent without a call of poll(2)
                // in between. Tasks that never wait must not delay the results of others.
                for _ in 0..<Self.roundsPerPoll {
                    var commands = inbox.take()[...]
                    while let command = commands.popFirst() {
                        if let finish = perform(command) { return end(finish, commands) }
                    }
                    work()
                    isSocketReady = false
                    guard inbox.hasCommands else { break }
                }
                expire(ContinuousClock.now)
                sleep()
            }
        }

        /// Performs a command.
        ///
        /// - Returns: What to call after closing.
        private mutating func perform(_ command: ConnectionCommand) -> (@Sendable () -> Void)? {
            switch command {
            case .perform(let job): add(job)
            case .cancel(let number): stop([number], PostgresConnection.cancelled)
            case .close(let finish): return finish
            case .run(let job, let executor): unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
            }
            return nil
        }

        private mutating func add(_ job: ConnectionJob) {
            if let error = pipeline.add(job.batch) { return job.finish(.failure(error)) }
            jobs[job.batch.number] = job
        }

        private mutating func end(_ finish: @Sendable () -> Void, _ taken: ArraySlice<ConnectionCommand>) {
            lose(PostgresConnection.closed)
            failWaiting(PostgresConnection.closed)
            signals.finish()
            for command in taken + inbox.close() {
                switch command {
                case .perform(let job): job.finish(.failure(PostgresConnection.closed))
                case .close(let finish): finish()
                case .run(let job, _): globalConcurrentExecutor.enqueue(job)
                case .cancel: break
                }
            }
            finish()
        }

        // MARK: Connecting

        private mutating func work() {
            switch phase {
            case .idle:
                let isListening = !channels.isEmpty && ContinuousClock.now >= retryTime
                if !pipeline.isEmpty || isListening { connect() }
            case .connecting: continueConnecting()
            case .open: exchange()
            }
        }

        private var hostLimit: Duration { configuration.connectLimit / configuration.address.hosts.count }

        private mutating func connect() {
            let hosts = configuration.address.hosts
            guard let link = PostgresLink(configuration.keywords(hosts[host])) else {
                return failToConnect(PostgresError(.connectionLost, "No memory is available for a connection."))
            }
            self.link = link
            phase = .connecting(until: ContinuousClock.now + hostLimit)
            // libpq has called connect(2): first the socket must become writable.
            interest = .writing
            if link.socket < 0 { failToConnect(PostgresError(connecting: link.message)) }
        }

        private mutating func continueConnecting() {
            guard let link, isSocketReady else { return }
            guard let next = link.connect() else { return failToConnect(PostgresError(connecting: link.message)) }
            interest = next
            guard next == .nothing else { return }
            phase = .open
            failures = 0
            refusals = []
            if !channels.isEmpty {
                let statements = channels.sorted().map(PostgresStatement.listen)
                pipeline.addFirst(Pipeline.Batch(number: Self.listening, statements: statements))
            }
            exchange()
        }

        /// Tries the next host. After the last one, what waits for a connection fails.
        private mutating func failToConnect(_ error: PostgresError) {
            let count = configuration.address.hosts.count
            host = (host + 1) % count
            refusals.append(error)
            guard refusals.count >= count else {
                link?.close()
                (link, phase, interest) = (nil, .idle, .nothing)
                return connect()
            }
            let error = PostgresError(refusals)
            refusals = []
            lose(error)
            failWaiting(error)
        }

        // MARK: Statements

        private mutating func exchange() {
            guard let link else { return }
            if isSocketReady, !link.receive() { return lose(error(of: link)) }
            guard takeResults(link) else { return }
            while let signal = link.nextNotification() { signals.yield(signal) }
            send(link)
        }

        /// Adds commands to the output until the socket accepts no more, so that the output stays small.
        private mutating func send(_ link: PostgresLink) {
            repeat {
                guard let next = link.flush() else { return lose(error(of: link)) }
                interest = next
                guard interest == .nothing else { return }
            } while addCommands(link)
        }

        /// - Returns: Whether there is something to send.
        private mutating func addCommands(_ link: PostgresLink) -> Bool {
            for count in 0..<Self.commandsPerFlush {
                guard let command = pipeline.next() else { return count > 0 }
                guard link.add(command) else {
                    lose(error(of: link))
                    return false
                }
            }
            return true
        }

        /// - Returns: Whether the connection still exists.
        private mutating func takeResults(_ link: PostgresLink) -> Bool {
            // libpq separates the results of two statements by one `nil`.
            var separators = 0
            while pipeline.isExpecting, separators < 2, !link.isBusy {
                do {
                    guard let received = try link.next() else {
                        separators += 1
                        continue
                    }
                    separators = 0
                    if case .failed(let error) = received, error.kind == .connectionLost {
                        lose(error)
                        return false
                    }
                    guard let finished = try pipeline.receive(received) else { continue }
                    finish(finished.number, finished.result)
                    // A connection that cannot listen was closed.
                    if self.link == nil { return false }
                    // The server became a standby, or its administrator forbids changes: another one may accept them.
                    if case .failure(let error) = finished.result, error.kind == .readOnly {
                        lose(error)
                        return false
                    }
                } catch {
                    lose(PostgresError(.connectionLost, "PostgreSQL sent a response that was not expected."))
                    return false
                }
            }
            return true
        }

        private mutating func finish(_ number: UInt64, _ result: Result<[PostgresRows], PostgresError>) {
            if number == Self.listening { return endListening(result) }
            guard let job = jobs.removeValue(forKey: number) else { return }
            if let channel = job.channel, case .success = result { channels.insert(channel) }
            job.finish(result)
        }

        private mutating func endListening(_ result: Result<[PostgresRows], PostgresError>) {
            switch result {
            case .success: signals.yield(.reconnected)
            // The connection that was lost will be replaced.
            case .failure where link == nil: break
            case .failure(let error):
                lose(error)
                failWaiting(error)
            }
        }

        private func error(of link: PostgresLink) -> PostgresError {
            let reason = link.message.split(whereSeparator: \.isNewline).first ?? "no reason was given"
            return PostgresError(.connectionLost, "The connection to PostgreSQL was lost: \(reason).")
        }

        // MARK: The end of a connection

        /// Closes the connection. Statements of which something was sent fail; the others wait for the next connection.
        private mutating func lose(_ error: PostgresError, stopped: Set<UInt64> = [], _ reason: PostgresError? = nil) {
            link?.close()
            (link, phase, interest) = (nil, .idle, .nothing)
            failures += 1
            retryTime = .now + Self.retryDelay.delay(after: failures, jitter: .random(in: 0.5...1))
            for (number, isOutcomeUnknown) in pipeline.reset() {
                let error = stopped.contains(number) ? reason ?? error : error
                finish(number, .failure(error.withUnknownOutcome(isOutcomeUnknown)))
            }
        }

        private mutating func failWaiting(_ error: PostgresError) {
            for number in pipeline.removeWaiting() { finish(number, .failure(error)) }
        }

        /// Ends batches early. If some of one was sent, the connection is closed: a stopped server would not react to a
        /// cancellation, and a late cancellation would reach another statement.
        private mutating func stop(_ numbers: [UInt64], _ error: PostgresError) {
            let sent = numbers.filter { number in
                guard pipeline.remove(number) else { return jobs[number] != nil }
                finish(number, .failure(error))
                return false
            }
            guard !sent.isEmpty else { return }
            if let cancel = link?.cancellation() { _ = BlockingThread.start(cancel) }
            let others = PostgresError(
                .connectionLost, "The connection to PostgreSQL was closed, because other statements were stopped.")
            lose(others, stopped: Set(sent), error)
        }

        private mutating func expire(_ now: ContinuousClock.Instant) {
            if case .connecting(let end) = phase, now >= end {
                failToConnect(
                    PostgresError(
                        .connectionLost, "PostgreSQL did not accept a connection within \(hostLimit).")
                )
            }
            let late = jobs.values.filter { $0.deadline <= now }.map(\.batch.number)
            if !late.isEmpty {
                stop(late, PostgresError(.timeLimit, "PostgreSQL did not respond within the time limit."))
            }
        }

        // MARK: Waiting

        private mutating func sleep() {
            var descriptors = [pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0)]
            if let link {
                // The results of what was sent arrive while the rest is being sent.
                let isReading = if case .open = phase { true } else { interest == .reading }
                let events = (isReading ? POLLIN : 0) | (interest == .writing ? POLLOUT : 0)
                descriptors.append(pollfd(fd: link.socket, events: Int16(events), revents: 0))
            }
            _ = unsafe poll(&descriptors, nfds_t(descriptors.count), inbox.willSleep() ? milliseconds() : 0)
            inbox.didSleep(wasWoken: descriptors[0].revents != 0)
            isSocketReady = descriptors.count > 1 && descriptors[1].revents != 0
        }

        /// The time until the next limit.
        private func milliseconds() -> Int32 {
            var times = jobs.values.map(\.deadline)
            switch phase {
            case .connecting(let end): times.append(end)
            case .idle: if !pipeline.isEmpty { return 0 } else if !channels.isEmpty { times.append(retryTime) }
            case .open: break
            }
            guard let next = times.min() else { return -1 }
            // Rounded up: an early wake-up would be repeated.
            return Int32(max(0, min(((next - .now) / .milliseconds(1)).rounded(.up), 600_000)))
        }
    }
#endif
