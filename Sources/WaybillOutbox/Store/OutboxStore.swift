/// The storage of the items of an outbox, shared by all workers that open it.
///
/// A call returns when its effect is durable. Changes of one call are made together or not at all, except where noted.
/// Times are those of the store's clock; callers pass and receive delays.
///
/// A call that cannot reach the store throws ``OutboxError/Code/storeUnreachable``. Whether it had an effect is unknown;
/// leases that it made are ended by the store, because the worker does not know them.
package protocol OutboxStore: Sendable {
    /// The executor on which a task performs successive calls at the lowest cost; `nil` for the default executor.
    var executor: (any TaskExecutor)? { get }

    /// The time after which the leases of a worker end unless it renews them; `nil` if they last as long as its process.
    var leaseDuration: Duration? { get }

    /// An element for each change that another process makes; finished if other processes make none. Each stream that
    /// this property returns has all elements.
    var wakeups: AsyncStream<Void> { get }

    /// Inserts items with their bodies. An item with a known idempotency key or deduplication key is not inserted again.
    func enqueue(_ items: [NewItem]) async throws(OutboxError) -> [EnqueuedItem]

    /// Leases items that can be worked on, so that no other call leases them.
    ///
    /// An item with a host is leased only to a request with this host; after its deadline also to others, which ends it.
    func lease(_ request: LeaseRequest) async throws(OutboxError) -> LeaseResult

    /// Applies events to items and lanes. An event with an outdated lease number changes no item.
    func apply(_ changes: [ItemChange]) async throws(OutboxError) -> [AppliedChange]

    /// Applies changes and leases items in one transaction, which costs one sync of the disk instead of two.
    func apply(
        _ changes: [ItemChange], thenLease request: LeaseRequest
    ) async throws(OutboxError) -> (applied: [AppliedChange], leased: LeaseResult)

    /// Renews the leases of a worker, and reports whether it still holds each of them.
    ///
    /// - Parameters:
    ///   - leases: The leases of the worker's deliveries in progress.
    ///   - token: The token of the worker.
    /// - Returns: The status of each lease, in the same order.
    /// - Throws: ``OutboxError``.
    func renew(_ leases: [HeldLease], token: String) async throws(OutboxError) -> [LeaseStatus]

    /// Ends the leases of workers that are gone, so that their items are verified.
    ///
    /// - Parameter token: The token of the calling worker, whose leases are kept.
    /// - Returns: The number of interrupted deliveries.
    /// - Throws: ``OutboxError``.
    func recover(token: String) async throws(OutboxError) -> Int

    /// Applies an event to all items of a selection, in several transactions if there are many.
    func control(
        _ event: ItemLife.Event, _ selection: ItemSelection
    ) async throws(OutboxError) -> ControlResult

    /// Returns the lanes that are not in their initial state.
    func lanes() async throws(OutboxError) -> [String: LaneLife]

    /// Applies an event to a lane.
    func lane(_ name: String, _ event: LaneLife.Event) async throws(OutboxError)

    /// Returns items in the order of their IDs.
    func items(
        _ selection: ItemSelection, after id: Int64, limit: Int
    ) async throws(OutboxError) -> [OutboxItem]

    /// Returns everything that is stored of an item.
    func detail(_ id: Int64) async throws(OutboxError) -> StoredDetail?

    /// Counts the items in each state.
    func tally(batch: String?) async throws(OutboxError) -> OutboxTally

    /// Returns results in the order of their sequence numbers, which increase but need not be consecutive. After a
    /// result was returned, no result with a smaller number is added.
    func results(after sequence: Int64, limit: Int) async throws(OutboxError) -> [OutboxResult]

    /// Returns a number that is stored by name, one for each consumer of results; 0 at first. It never decreases.
    ///
    /// The store itself maintains ``OutboxMark/sequence``: ``results(after:limit:)`` returns only later results for it.
    func mark(_ name: String) async throws(OutboxError) -> Int64

    /// Increases a number that is stored by name.
    func raise(_ name: String, to value: Int64) async throws(OutboxError)

    /// Claims a task that one worker performs for all, such as passing on results.
    ///
    /// A claim lasts until it is released, or until the leases of its worker end. Renews the leases of the worker.
    ///
    /// - Returns: Whether the worker has the claim, now or already before.
    func claim(_ name: String, token: String) async throws(OutboxError) -> Bool

    /// Releases a claim; does nothing if the worker does not have it.
    func release(_ name: String, token: String) async throws(OutboxError)

    /// Removes items that ended longer ago than a duration, with their bodies; in several transactions if there are many.
    ///
    /// - Returns: The number of removed items.
    func purge(olderThan age: Duration) async throws(OutboxError) -> Int

    /// Returns a body of an item, one of ``NewItem/bodies``.
    ///
    /// The store removes the bodies of an item when it is delivered or cancelled. Those of a failed item are kept until
    /// the item is purged, because it may be sent again.
    ///
    /// - Returns: `nil` if the worker does not hold the lease, or if the item has no such body.
    func body(_ name: String, of lease: HeldLease, token: String) async throws(OutboxError) -> [UInt8]?

    /// Returns the number of bytes that the stored items take on the disk of this machine.
    func storedBytes() async throws(OutboxError) -> Int64

    /// Returns all unused space to the file system. Meanwhile, other calls may have to wait.
    func reclaim() async throws(OutboxError)

    /// Copies the stored items into a new file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - finish: Called with the names of the staged files that the copy needs, before any other change is made.
    /// - Throws: ``OutboxError``, also an error of `finish`.
    func copy(
        to path: String, finish: @escaping @Sendable ([String]) throws -> Void
    ) async throws(OutboxError)

    /// Returns those of the given staged files, of ``NewItem/staged``, that an item still needs.
    func stagedInUse(_ names: [String]) async throws(OutboxError) -> Set<String>

    /// Checks the stored items for damage.
    ///
    /// - Returns: `ok`, or a description of the damage.
    func checkIntegrity() async throws(OutboxError) -> String

    /// Waits for pending calls and closes the store. Later calls fail with ``OutboxError/Code/closed``.
    func close() async
}

extension OutboxStore {
    /// 0, for a store on another machine.
    package func storedBytes() async throws(OutboxError) -> Int64 { 0 }

    /// Fails, for a store on another machine.
    package func copy(
        to path: String, finish: @escaping @Sendable ([String]) throws -> Void
    ) async throws(OutboxError) {
        throw OutboxError(.storageFailed, "The items are in a database server. Back up the database with pg_dump.")
    }

    /// Does nothing, for a store that returns unused space without a request.
    package func reclaim() async throws(OutboxError) {}
}

/// A lease, as its worker knows it.
package struct HeldLease: Sendable, Hashable {
    /// The ID of the item.
    package var item: Int64
    /// The lease number.
    package var number: Int64

    package init(item: Int64, number: Int64) {
        self.item = item
        self.number = number
    }
}

/// The status of a lease.
package enum LeaseStatus: Sendable, Hashable {
    case held
    /// The worker holds the lease. The delivery is to be stopped, because the item is to be paused or cancelled.
    case stopRequested
    /// The lease has ended: results under its number are ignored.
    case lost
}

extension ItemLife {
    /// Returns the status of a lease of this item.
    package func status(ofLease number: Int64) -> LeaseStatus {
        guard number == leaseNumber, state == .leased || isVerifying else { return .lost }
        return state == .leased && pendingRequest != .nothing ? .stopRequested : .held
    }
}
