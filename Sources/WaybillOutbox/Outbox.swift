import Waybill
import WaybillCore

/// A persistent queue of uploads. Each enqueued upload is delivered once, or ends with a result that gives the reason
/// for its failure.
///
/// ```swift
/// let outbox = try await Outbox(at: "/var/lib/kiosk/outbox")
/// try await outbox.enqueue(form, to: "https://backend.example/upload")
/// try await outbox.run()                       // delivers, until the task is cancelled
/// ```
///
/// When ``enqueue(_:to:method:headers:credential:idempotency:options:)`` returns, the upload is on disk with everything
/// it needs and survives `kill -9` and a power failure. An upload whose outcome is unknown is not blindly sent again:
/// it is verified first. If verification is not possible, it fails with the reason `outcomeUnknown`, or is handled
/// according to its ``UnknownPolicy``.
///
/// Any number of processes of one user may open an outbox. The first one owns it; the others send requests to it
/// through a socket in the outbox's directory. When the owner ends, for whatever reason, another process takes over.
///
/// Processes of several machines share an outbox in a database: see ``Configuration/store``.
public final class Outbox: Sendable {
    private enum Role {
        case client
        case owner(OutboxCore)
        case closed
    }

    /// The path of the directory; for a shared store its address, without secrets.
    public let path: String
    let configuration: Configuration
    let registry: UploadTypeRegistry
    /// The directory; `nil` for a shared store.
    let directory: OutboxDirectory?
    let bodies: any BodyStorage
    let drain = Drain()
    private let role = Locked(Role.client)
    private let takeovers = AsyncSerializer()

    /// Opens an outbox, creating it if necessary.
    ///
    /// The directory is created with access for its owner only (0700). If no other process owns the outbox, this one
    /// takes it over: deliveries that the previous owner had in progress are verified before anything is sent.
    ///
    /// - Throws: ``OutboxError`` if the directory cannot be used or is on a network file system, or if the queue is
    ///   damaged.
    public init(at path: String, configuration: Configuration = Configuration()) async throws(OutboxError) {
        guard configuration.store == nil else {
            throw OutboxError(
                .directoryUnusable,
                "The configuration has a shared store, so the outbox is not in a directory. Open it without a path.")
        }
        self.path = path
        self.configuration = configuration
        registry = try UploadTypeRegistry(configuration.kinds)
        let directory = try OutboxDirectory(path)
        self.directory = directory
        bodies = Spool(directory: directory.spool, operations: configuration.spoolOperations)
        _ = try await takeOver()
    }

    /// Opens an outbox in the store that ``Configuration/store`` names, which processes of several machines share.
    ///
    /// Every process uses the store itself; there is no owner. Any number of them may deliver.
    ///
    /// - Throws: ``OutboxError``, with the code ``OutboxError/Code/storeUnreachable`` if the store cannot be reached.
    public init(configuration: Configuration) async throws(OutboxError) {
        guard let store = configuration.store else {
            throw OutboxError(
                .directoryUnusable, "The configuration has no shared store. Set one, or open the outbox in a directory."
            )
        }
        path = store.description
        self.configuration = configuration
        registry = try UploadTypeRegistry(configuration.kinds)
        directory = nil
        bodies = try SharedBodies(store, configuration.spoolOperations)
        _ = try await takeOver()
    }

    /// Closes the outbox. Stop the deliveries of this process first by cancelling the task that runs ``run(session:)``.
    public func close() async {
        let old = role.withLock { role in
            defer { role = .closed }
            return role
        }
        if case .owner(let core) = old { await core.close() }
    }

    /// Whether this process owns the outbox. For a shared store, always `true` until the outbox is closed.
    public var isOwner: Bool { owner != nil }

    var owner: OutboxCore? {
        role.withLock { if case .owner(let core) = $0 { core } else { nil } }
    }

    /// Takes ownership unless another process has it.
    func takeOver() async throws(OutboxError) -> OutboxCore? {
        try await takeovers.runExclusively { () async throws(OutboxError) -> OutboxCore? in
            switch role.withLock({ $0 }) {
            case .owner(let core): return core
            case .closed: throw OutboxError(.closed, "The outbox was closed. Open it again.")
            case .client: break
            }
            guard let core = try await makeCore() else { return nil }
            let hasBecomeOwner = role.withLock { role in
                guard case .client = role else { return false }
                role = .owner(core)
                return true
            }
            if !hasBecomeOwner { await core.close() }
            return core
        }
    }

    private func makeCore() async throws(OutboxError) -> OutboxCore? {
        if let store = configuration.store {
            return OutboxCore(
                try await store.open(), bodies, configuration, token: RandomName.make(), host: store.host)
        }
        guard let directory, let lock = try OwnerLock.acquire(directory) else { return nil }
        return try await OutboxCore.takeOver(directory, lock, configuration) { [weak self] in
            self?.releaseOwnership()
        }
    }

    /// Sends a request to the process that owns the directory; returns `nil` without one.
    func sendToOwner(_ request: OutboxRequest) async throws(OutboxError) -> OutboxReply? {
        guard let directory else { return nil }
        return try await OwnerConnection.send(request, in: directory)
    }

    /// Has the owner perform a request: this process, or another one.
    func perform(_ request: OutboxRequest) async throws(OutboxError) -> OutboxReply {
        // During a change of owners, no process responds for a moment.
        let deadline = ContinuousClock.now + Self.requestTimeout
        while ContinuousClock.now < deadline {
            if let core = try await takeOver() {
                do throws(OutboxError) {
                    return try await core.perform(request)
                } catch  where error.code == .closed && owner == nil {
                    // Ownership was released in between; nothing of the request was done.
                    continue
                }
            }
            if let reply = try await sendToOwner(request) { return reply }
            do { try await Task.sleep(for: .milliseconds(20)) } catch {
                throw OutboxError(.cancelled, "The task was cancelled while waiting for the owner of the outbox.")
            }
        }
        throw OutboxError(
            .ownerUnreachable,
            "Another process owns the outbox \(path) and does not respond. Check or stop that process.")
    }

    /// Releases the queue to a process that requests to deliver from it.
    private func releaseOwnership() {
        let old = role.withLock { role -> OutboxCore? in
            guard case .owner(let core) = role else { return nil }
            role = .client
            return core
        }
        if let old { Task { await old.close() } }
    }

    private static let requestTimeout = Duration.seconds(10)
}

/// Serializes asynchronous work of several callers.
private actor AsyncSerializer {
    private var isBusy = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func runExclusively<Value: Sendable>(
        _ work: @Sendable () async throws(OutboxError) -> Value
    ) async throws(OutboxError) -> Value {
        if isBusy { await withCheckedContinuation { waiters.append($0) } } else { isBusy = true }
        defer { if waiters.isEmpty { isBusy = false } else { waiters.removeFirst().resume() } }
        return try await work()
    }
}
