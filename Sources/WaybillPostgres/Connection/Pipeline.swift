/// The order of statements and of their results on one connection: a pure state machine.
///
/// Statements are sent without waiting for results, in batches. A message `Sync` ends each batch; there the server commits
/// it, unless the batch is part of a transaction of several batches. After a failed statement, the server skips the rest of
/// the batch and rolls it back; the next batch is not affected.
///
/// ``next()`` returns what to send, ``receive(_:)`` takes the results in their order.
struct Pipeline {
    /// Statements that one `Sync` ends.
    struct Batch: Equatable {
        let number: UInt64
        var statements: [PostgresStatement]
        /// The number of the transaction of several batches that this one belongs to.
        var transaction: UInt64?
        var place = Place.whole
    }

    /// The place of a batch in its transaction.
    enum Place: Equatable {
        /// The batch is a transaction.
        case whole
        /// The batch contains the statement that begins the transaction.
        case first
        case middle
        /// The batch contains the statement that ends the transaction.
        case last
    }

    enum Command: Equatable {
        case prepare(name: String, PostgresStatement)
        /// Performs a statement, prepared if it has a name.
        case perform(PostgresStatement, name: String?)
        case sync
    }

    enum Received {
        case rows(PostgresRows)
        case failed(PostgresError)
        /// The statement was skipped, because one before it failed.
        case aborted
        case synced
    }

    struct Finished {
        let number: UInt64
        let result: Result<[PostgresRows], PostgresError>
    }

    /// A result that does not belong to what was sent.
    struct Mismatch: Error {}

    private enum Expected: Equatable {
        case preparation(Signature, name: String)
        case result
        case end(Batch)
    }

    /// A prepared statement has fixed types of its parameters.
    private struct Signature: Hashable {
        let sql: String
        let types: [UInt32]

        // Statements have thousands of characters. Equal ones are usually the same object, so that comparing them is quick.
        func hash(into hasher: inout Hasher) { hasher.combine(sql.utf8.count) }

        static func == (first: Signature, second: Signature) -> Bool {
            first.sql.utf8.count == second.sql.utf8.count && first.sql == second.sql && first.types == second.types
        }
    }

    private let isPreparing: Bool
    private var waiting = Queue<Batch>()
    private var sending: (batch: Batch, index: Int)?
    private var expected = Queue<Expected>()
    // Of the batch whose results arrive.
    private var results: [PostgresRows] = []
    private var failure: PostgresError?
    private var openTransaction: UInt64?
    private var prepared: [Signature: String] = [:]
    /// What the batch that is being sent prepares. Other batches do not use it, because the server may skip it.
    private var preparing: [Signature: String] = [:]
    private var preparations = 0

    /// - Parameter isPreparing: Whether statements are prepared on their first use.
    init(isPreparing: Bool) {
        self.isPreparing = isPreparing
    }

    /// Whether a batch waits or is being performed.
    var isEmpty: Bool { waiting.isEmpty && sending == nil && expected.isEmpty }
    /// Whether results are to arrive.
    var isExpecting: Bool { !expected.isEmpty }

    /// Appends a batch. Returns the failure of one whose transaction no longer exists.
    mutating func add(_ batch: Batch) -> PostgresError? {
        if let transaction = batch.transaction, batch.place != .first, transaction != openTransaction {
            return PostgresError(
                .connectionLost, "The transaction was rolled back, because the connection was lost. Repeat it.")
        }
        waiting.append(batch)
        return nil
    }

    /// Inserts a batch before those of which nothing was sent.
    mutating func addFirst(_ batch: Batch) {
        waiting.insertFirst(batch)
    }

    /// Removes a batch of which nothing was sent.
    ///
    /// - Returns: Whether there was one.
    mutating func remove(_ number: UInt64) -> Bool {
        waiting.removeFirst { $0.number == number } != nil
    }

    /// Returns what to send next, or `nil` until a batch is added or a transaction ends.
    mutating func next() -> Command? {
        if sending == nil {
            guard let batch = nextBatch() else { return nil }
            if batch.place == .first { openTransaction = batch.transaction }
            sending = (batch, 0)
            preparing = [:]
        }
        guard let (batch, index) = sending else { return nil }
        guard index < batch.statements.count else {
            sending = nil
            expected.append(.end(batch))
            return .sync
        }
        let statement = batch.statements[index]
        guard isPreparing else {
            sending = (batch, index + 1)
            expected.append(.result)
            return .perform(statement, name: nil)
        }
        let signature = Signature(sql: statement.sql, types: statement.parameters.map(\.oid))
        guard let name = prepared[signature] ?? preparing[signature] else {
            preparations += 1
            let name = "waybill\(preparations)"
            preparing[signature] = name
            expected.append(.preparation(signature, name: name))
            return .prepare(name: name, statement)
        }
        sending = (batch, index + 1)
        expected.append(.result)
        return .perform(statement, name: name)
    }

    /// During a transaction of several batches, others wait.
    private mutating func nextBatch() -> Batch? {
        guard let openTransaction else { return waiting.popFirst() }
        return waiting.removeFirst { $0.transaction == openTransaction }
    }

    /// Takes the next result.
    ///
    /// - Returns: A batch that has ended.
    /// - Throws: ``Mismatch``; the connection must be closed.
    mutating func receive(_ received: Received) throws(Mismatch) -> Finished? {
        guard let first = expected.first else { throw Mismatch() }
        switch (received, first) {
        case (.rows, .preparation(let signature, let name)):
            _ = expected.popFirst()
            prepared[signature] = name
        case (.rows(let rows), .result):
            _ = expected.popFirst()
            results.append(rows)
        case (.failed(let error), _):
            if failure == nil { failure = error }
            if error.invalidatesPrepared { prepared = [:] }
            // An error of the commit itself precedes the end of the batch.
            if case .end = first { break }
            _ = expected.popFirst()
        case (.aborted, .preparation), (.aborted, .result): _ = expected.popFirst()
        case (.synced, .end(let batch)):
            _ = expected.popFirst()
            return finish(batch)
        default: throw Mismatch()
        }
        return nil
    }

    private mutating func finish(_ batch: Batch) -> Finished {
        defer { (results, failure) = ([], nil) }
        // After a failure, the transaction stays open until the batch with ROLLBACK.
        if batch.place == .last, failure == nil { openTransaction = nil }
        return Finished(number: batch.number, result: failure.map(Result.failure) ?? .success(results))
    }

    /// Forgets everything about a connection that was lost, and returns the batches that failed with it. Those of which
    /// nothing was sent remain, except those of the open transaction.
    mutating func reset() -> [(number: UInt64, isOutcomeUnknown: Bool)] {
        var lost: [(number: UInt64, isOutcomeUnknown: Bool)] = []
        while let item = expected.popFirst() {
            guard case .end(let batch) = item else { continue }
            lost.append((batch.number, batch.place == .whole || batch.place == .last))
        }
        if let sending { lost.append((sending.batch.number, false)) }
        while let openTransaction, let batch = waiting.removeFirst(where: { $0.transaction == openTransaction }) {
            lost.append((batch.number, false))
        }
        (sending, results, failure, openTransaction) = (nil, [], nil, nil)
        (prepared, preparing) = ([:], [:])
        return lost
    }

    /// Removes and returns all batches of which nothing was sent.
    mutating func removeWaiting() -> [UInt64] {
        var numbers: [UInt64] = []
        while let batch = waiting.popFirst() { numbers.append(batch.number) }
        return numbers
    }
}

/// A first-in, first-out queue. Removing the first element moves no others.
private struct Queue<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }
    var first: Element? { isEmpty ? nil : elements[start] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer {
            elements[start] = nil
            start += 1
            if start > 64, start * 2 > elements.count {
                elements.removeFirst(start)
                start = 0
            }
        }
        return elements[start]
    }

    mutating func insertFirst(_ element: Element) { elements.insert(element, at: start) }

    mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        guard let index = elements[start...].firstIndex(where: { $0.map(matches) ?? false }) else { return nil }
        return elements.remove(at: index)
    }
}
