/// Values that become available over time, for a `for await` loop.
///
/// Each loop is an independent pass, which ends when its iterator is released. The declaration that returns the
/// sequence documents where a pass starts and when it ends.
public struct AsyncValues<Element, Failure: Error>: AsyncSequence, Sendable {
    /// Returns the next value, or `nil` after the last.
    package typealias Next = () async throws(Failure) -> Element?

    private let makeNext: @Sendable () -> Next

    /// Creates a sequence from a closure that starts a pass.
    package init(_ makeNext: @escaping @Sendable () -> Next) {
        self.makeNext = makeNext
    }

    /// Starts a pass.
    public func makeAsyncIterator() -> Iterator { Iterator(advance: makeNext()) }

    /// The iterator of one pass. Copies share their position.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let advance: Next

        /// Waits for the next value.
        ///
        /// - Returns: The value, or `nil` after the last.
        /// - Throws: The sequence's failure.
        public mutating func next() async throws(Failure) -> Element? { try await advance() }

        /// Waits for the next value, without leaving the caller's actor.
        ///
        /// - Parameter actor: The caller's actor.
        /// - Returns: The value, or `nil` after the last.
        /// - Throws: The failure of the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            try await advance()
        }
    }
}
