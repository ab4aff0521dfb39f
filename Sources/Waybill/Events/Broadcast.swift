import WaybillCore

/// Sends values to any number of listeners. Each listens to one topic, with a stream of its own.
package final class Broadcast<Topic: Hashable & Sendable, Element: Sendable>: Sendable {
    package typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var listeners: [Topic: [Int: Continuation]] = [:]
        var nextKey = 0
        var isClosed = false
    }

    private let state = Locked(State())

    package init() {}

    deinit { close() }

    /// Whether there is no listener.
    package var isEmpty: Bool { state.withLock { $0.listeners.isEmpty } }

    /// Returns whether a topic has a listener.
    package func isHeard(_ topic: Topic) -> Bool { state.withLock { $0.listeners[topic] != nil } }

    /// Sends a value to the listeners of these topics; of all without one.
    package func send(_ element: Element, to topics: Topic...) {
        let streams = state.withLock { state in
            let lists = topics.isEmpty ? Array(state.listeners.values) : topics.compactMap { state.listeners[$0] }
            return lists.flatMap(\.values)
        }
        for stream in streams { stream.yield(element) }
    }

    /// Removes the listeners of a topic, to be finished where no lock is held: that calls their termination handlers.
    package func remove(_ topic: Topic) -> [Continuation] {
        state.withLock { state in state.listeners.removeValue(forKey: topic).map { Array($0.values) } ?? [] }
    }

    /// Removes all listeners, to be finished where no lock is held.
    package func removeAll() -> [Continuation] {
        state.withLock { state in
            defer { state.listeners = [:] }
            return state.listeners.values.flatMap(\.values)
        }
    }

    /// Finishes all listeners, and each that comes later.
    package func close() {
        state.withLock { $0.isClosed = true }
        for stream in removeAll() { stream.finish() }
    }

    /// Adds a listener.
    ///
    /// - Parameters:
    ///   - topic: What it listens to.
    ///   - room: Of more values than this that wait for it, the oldest are lost.
    ///   - first: What it gets first.
    ///   - isLast: Whether nothing follows.
    /// - Returns: Its stream.
    package func listen(
        to topic: Topic, room: Int = 1, first: Element? = nil, isLast: Bool = false
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(room))
        if let first { continuation.yield(first) }
        let key = state.withLock { state -> Int? in
            guard !isLast, !state.isClosed else { return nil }
            state.nextKey += 1
            state.listeners[topic, default: [:]][state.nextKey] = continuation
            return state.nextKey
        }
        if let key {
            continuation.onTermination = { [weak self] _ in self?.forget(key, of: topic) }
        } else {
            continuation.finish()
        }
        return stream
    }

    private func forget(_ key: Int, of topic: Topic) {
        // The continuation is destroyed after the lock is free.
        _ = state.withLock { state -> Continuation? in
            let stream = state.listeners[topic]?.removeValue(forKey: key)
            if state.listeners[topic]?.isEmpty == true { state.listeners[topic] = nil }
            return stream
        }
    }
}
