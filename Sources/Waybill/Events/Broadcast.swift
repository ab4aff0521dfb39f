import WaybillCore

/// Sends values to any number of listeners. Each listener has a topic and a separate buffer.
///
/// The owner calls ``close()`` before it releases the broadcast, otherwise its listeners wait indefinitely. A `deinit`
/// of this class would do it in code that is not specialized, at a cost that a small upload notices.
///
/// No listener is resumed here: methods return ``Wakeups``, and the caller resumes them where it holds no lock.
/// Resuming a task takes the runtime's lock of that task. Cancelling a task holds the same lock while its cancellation
/// handlers run, and these take locks of this class. If one of its locks were held while resuming, two threads would
/// wait for each other indefinitely.
package final class Broadcast<Topic: Hashable & Sendable, Element: Sendable>: Sendable {
    private struct State {
        var mailboxes: [Topic: [Int: Mailbox<Element>]] = [:]
        var nextKey = 0
        var isClosed = false
    }

    private let state = Locked(State())

    package init() {}

    /// Whether there is no listener.
    package var isEmpty: Bool { state.withLock { $0.mailboxes.isEmpty } }

    /// Returns whether a topic has a listener.
    package func hasListeners(for topic: Topic) -> Bool { state.withLock { $0.mailboxes[topic] != nil } }

    /// Sends a value to the listeners of the given topics, or to all listeners if no topic is given. Values reach each
    /// listener in the order of the calls.
    package func send(_ element: Element, to topics: Topic...) -> Wakeups {
        state.withLock { state in
            var wakeups = Wakeups()
            func enqueue(_ mailboxes: [Int: Mailbox<Element>]) {
                for mailbox in mailboxes.values {
                    if let wakeup = mailbox.enqueue(element) { wakeups.wakeups.append(wakeup) }
                }
            }
            if topics.isEmpty {
                for mailboxes in state.mailboxes.values { enqueue(mailboxes) }
            } else {
                for topic in topics { state.mailboxes[topic].map(enqueue) }
            }
            return wakeups
        }
    }

    /// Ends the listeners of a topic after the values that they have not taken yet.
    package func finish(_ topic: Topic) -> Wakeups {
        let ended = state.withLock { $0.mailboxes.removeValue(forKey: topic) }
        return Wakeups((ended ?? [:]).values.compactMap { $0.finish() })
    }

    /// Ends all listeners after the values that they have not taken yet.
    package func finishAll() -> Wakeups {
        let ended = state.withLock { state in
            defer { state.mailboxes = [:] }
            // A key path is created anew on each call of generic code, which costs a small upload a tenth of its time.
            return state.mailboxes.values.flatMap { $0.values }
        }
        return Wakeups(ended.compactMap { $0.finish() })
    }

    /// Ends all listeners, including those that are added later.
    package func close() {
        state.withLock { $0.isClosed = true }
        finishAll().resume()
    }

    /// Adds a listener.
    ///
    /// - Parameters:
    ///   - topic: The topic.
    ///   - bufferSize: The size of its buffer. When more values wait, the oldest are dropped.
    ///   - first: The first value.
    ///   - isLast: Whether no value follows.
    /// - Returns: The values. The listener is removed when the task that waits for a value is cancelled, and when the last copy of
    ///   the sequence and its iterators is released.
    package func listen(
        to topic: Topic, bufferSize: Int = 1, first: Element? = nil, isLast: Bool = false
    ) -> BroadcastSequence<Element> {
        let mailbox = Mailbox<Element>(bufferSize: bufferSize, first: first)
        let key = state.withLock { state -> Int? in
            guard !isLast, !state.isClosed else { return nil }
            state.nextKey += 1
            state.mailboxes[topic, default: [:]][state.nextKey] = mailbox
            return state.nextKey
        }
        guard let key else {
            _ = mailbox.finish()
            return BroadcastSequence(mailbox) {}
        }
        return BroadcastSequence(mailbox) { [weak self] in self?.remove(key, of: topic) }
    }

    private func remove(_ key: Int, of topic: Topic) {
        // The values in the mailbox are released after the lock.
        _ = state.withLock { state -> Mailbox<Element>? in
            let mailbox = state.mailboxes[topic]?.removeValue(forKey: key)
            if state.mailboxes[topic]?.isEmpty == true { state.mailboxes[topic] = nil }
            return mailbox
        }
    }
}

extension Broadcast {
    package typealias Wakeups = BroadcastWakeups<Element>
}

/// Suspended listeners, each with the value it receives.
package struct BroadcastWakeups<Element: Sendable>: Sendable {
    fileprivate typealias Wakeup = (waiter: CheckedContinuation<Element?, Never>, element: Element?)

    fileprivate var wakeups: [Wakeup]

    package init() { wakeups = [] }

    fileprivate init(_ wakeups: [Wakeup]) { self.wakeups = wakeups }

    package static func += (left: inout Self, right: Self) { left.wakeups += right.wakeups }

    /// Resumes the listeners. Call it once, and only where no lock is held.
    package consuming func resume() {
        for (waiter, element) in wakeups { waiter.resume(returning: element) }
    }
}

/// The values for one listener, as an asynchronous sequence. All its iterators share one buffer.
package struct BroadcastSequence<Element: Sendable>: AsyncSequence, Sendable {
    package typealias Failure = Never

    private let listener: Listener

    fileprivate init(_ mailbox: Mailbox<Element>, onRelease: @escaping @Sendable () -> Void) {
        listener = Listener(mailbox, onRelease)
    }

    package func makeAsyncIterator() -> Iterator { Iterator(listener: listener) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let listener: Listener

        package mutating func next() async -> Element? { await next(isolation: #isolation) }

        /// Waits for the next value without leaving the caller's actor. Returns `nil` after the last value and when the
        /// task was cancelled.
        package mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await withTaskCancellationHandler {
                await listener.mailbox.next(isolation: actor)
            } onCancel: { [listener] in
                listener.cancel()
            }
        }
    }

    fileprivate final class Listener: Sendable {
        let mailbox: Mailbox<Element>
        private let onRelease: @Sendable () -> Void

        init(_ mailbox: Mailbox<Element>, _ onRelease: @escaping @Sendable () -> Void) {
            self.mailbox = mailbox
            self.onRelease = onRelease
        }

        deinit { onRelease() }

        func cancel() {
            onRelease()
            if let (waiter, _) = mailbox.finish() { waiter.resume(returning: nil) }
        }
    }
}

/// The values that wait for one listener.
private final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element]
        /// The index of the oldest value. Values before it were taken or dropped.
        var start = 0
        var isFinished = false
        /// Set only while no value waits.
        var waiter: CheckedContinuation<Element?, Never>?

        mutating func take() -> Element? {
            guard start < elements.count else { return nil }
            defer { drop() }
            return elements[start]
        }

        mutating func drop() {
            start += 1
            // Remove half of the array each time, so that each value is moved once.
            guard start * 2 >= elements.count else { return }
            elements.removeFirst(start)
            start = 0
        }
    }

    private let state: Locked<State>
    private let bufferSize: Int

    init(bufferSize: Int, first: Element?) {
        self.bufferSize = max(1, bufferSize)
        state = Locked(State(elements: first.map { [$0] } ?? []))
    }

    func enqueue(_ element: Element) -> BroadcastWakeups<Element>.Wakeup? {
        state.withLock { state in
            guard !state.isFinished else { return nil }
            if let waiter = state.waiter.take() { return (waiter, element) }
            state.elements.append(element)
            if state.elements.count - state.start > bufferSize { state.drop() }
            return nil
        }
    }

    func finish() -> BroadcastWakeups<Element>.Wakeup? {
        state.withLock { state in
            state.isFinished = true
            return state.waiter.take().map { ($0, nil) }
        }
    }

    func next(isolation actor: isolated (any Actor)?) async -> Element? {
        await withCheckedContinuation(isolation: actor) { waiter in
            let element: Element?? = state.withLock { state in
                if let element = state.take() { return .some(element) }
                // A second task that waits on the same iterator receives no value.
                if state.isFinished || state.waiter != nil { return .some(nil) }
                state.waiter = waiter
                return nil
            }
            if let element { waiter.resume(returning: element) }
        }
    }
}
