#if Shared
    import WaybillCore

    /// Notifies the workers of other machines about changes, and receives their notifications. A lost notification delays
    /// a worker until it polls.
    final class ChangeSignals: Sendable {
        private struct State {
            var listeners: [UInt64: AsyncStream<Void>.Continuation] = [:]
            var lastKey: UInt64 = 0
            var isListening = false
            var isClosed = false
            var isScheduled = false
            var lastSent: ContinuousClock.Instant?
        }

        private let connection: PostgresConnection
        private let listens: Bool
        private let interval: Duration
        private let state = Locked(State())
        private static let channel = "waybill"
        /// NOTIFY takes a lock of the whole cluster, so it is sent once for many changes.
        private static let shortestInterval = Duration.milliseconds(200)

        /// - Parameters:
        ///   - connection: The connection, whose signals no other object reads.
        ///   - listens: Whether notifications are sent and received.
        ///   - interval: The longest time between two elements of a stream.
        init(_ connection: PostgresConnection, listens: Bool, interval: Duration) {
            self.connection = connection
            self.listens = listens
            self.interval = interval
            Task { [weak self, signals = connection.signals] in
                for await _ in signals { self?.wake() }
            }
        }

        /// Returns a stream with an element for each notification, and for each time to poll.
        func stream() -> AsyncStream<Void> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let (key, isFirst): (UInt64?, Bool) = state.withLock { state in
                    guard !state.isClosed else { return (nil, false) }
                    state.lastKey += 1
                    state.listeners[state.lastKey] = continuation
                    defer { state.isListening = true }
                    return (state.lastKey, !state.isListening)
                }
                guard let key else { return continuation.finish() }
                let polling = Task { [interval] in
                    // Random, so that many workers do not poll together.
                    while (try? await Task.sleep(for: interval * Double.random(in: 0.5...1))) != nil {
                        continuation.yield()
                    }
                }
                continuation.onTermination = { [weak self] _ in
                    polling.cancel()
                    self?.state.withLock { $0.listeners[key] = nil }
                }
                guard isFirst, listens else { return }
                Task { [weak self, connection] in
                    let isDone = (try? await connection.listen(to: Self.channel)) != nil
                    if !isDone { self?.state.withLock { $0.isListening = false } }
                }
            }
        }

        private func wake() {
            for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
        }

        /// Notifies workers, soon and once for several calls.
        func notify() {
            guard listens else { return }
            let delay: Duration? = state.withLock { state in
                guard !state.isScheduled, !state.isClosed else { return nil }
                state.isScheduled = true
                return state.lastSent.map { max(.zero, $0 + Self.shortestInterval - .now) } ?? .zero
            }
            guard let delay else { return }
            Task { [weak self] in
                if delay > .zero { try? await Task.sleep(for: delay) }
                await self?.send()
            }
        }

        private func send() async {
            let isDue = state.withLock { state in
                defer { (state.isScheduled, state.lastSent) = (false, .now) }
                return state.isScheduled
            }
            guard isDue else { return }
            _ = try? await connection.run(PostgresStatement("SELECT pg_notify($1, '')", .text(Self.channel)))
        }

        /// Sends a notification that is due, and ends the streams.
        func close() async {
            await send()
            let listeners = state.withLock { state in
                defer { state.listeners = [:] }
                state.isClosed = true
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.finish() }
        }
    }
#endif
