import Waybill
import WaybillCore

/// A queue of uploads that survives the program: handed over means delivered once, or you are told why not.
///
/// ```swift
/// let outbox = try await Outbox(at: "/var/lib/kiosk/outbox")
/// try await outbox.enqueue(form, to: "https://backend.example/upload")
/// try await outbox.run()                       // delivers, until the task is cancelled
/// ```
///
/// When ``enqueue(_:to:method:headers:credential:idempotency:options:)`` returns, the upload is on the disk, with all it
/// needs: neither `kill -9` nor a power cut takes it away. An upload whose end nobody saw is not sent again on a guess: it is
/// verified first, and where that can't be done it fails with the reason `outcomeUnknown`, or does as ``UnknownPolicy`` says.
///
/// Any number of processes of one user may open an outbox. One of them has it, whichever came first, and the others reach it
/// through a socket in its folder. When it ends, however it ends, the next one takes over.
public final class Outbox: Sendable {
    private enum Role {
        case guest
        case owner(OutboxCore)
        case closed
    }

    /// The folder.
    public let path: String
    let configuration: Configuration
    let registry: KindRegistry
    let folder: OutboxFolder
    let drain = Drain()
    private let role = Locked(Role.guest)
    private let taking = TurnTaking()

    /// Opens an outbox, or makes one.
    ///
    /// The folder is made for its owner alone (0700). If no other process has the outbox, this one takes it: what another had
    /// under way when it ended is verified before anything is sent.
    ///
    /// - Throws: ``OutboxError``: the folder can't be used, or lies on a network file system; the queue is damaged.
    public init(at path: String, configuration: Configuration = Configuration()) async throws(OutboxError) {
        self.path = path
        self.configuration = configuration
        registry = try KindRegistry(configuration.kinds)
        folder = try OutboxFolder(path)
        _ = try await takeOver()
    }

    /// Gives the outbox back. Deliveries of this process are stopped first: cancel the task that runs ``run(session:)``.
    public func close() async {
        let old = role.withLock { role in
            defer { role = .closed }
            return role
        }
        if case .owner(let core) = old { await core.close() }
    }

    /// Whether this process has the outbox.
    public var isOwner: Bool { owner != nil }

    var owner: OutboxCore? {
        role.withLock { if case .owner(let core) = $0 { core } else { nil } }
    }

    /// Becomes the owner, if nobody else is.
    func takeOver() async throws(OutboxError) -> OutboxCore? {
        try await taking.inTurn { () async throws(OutboxError) -> OutboxCore? in
            switch role.withLock({ $0 }) {
            case .owner(let core): return core
            case .closed: throw OutboxError(.closed, "the outbox was closed: open it again")
            case .guest: break
            }
            guard let lock = try OwnerLock.take(folder) else { return nil }
            let core = try await OutboxCore.takeOver(folder, lock, configuration) { [weak self] in self?.stepDown() }
            let isWanted = role.withLock { role in
                guard case .guest = role else { return false }
                role = .owner(core)
                return true
            }
            if !isWanted { await core.close() }
            return core
        }
    }

    /// Has something done by whoever has the outbox: this process, or another one.
    func perform(_ request: OutboxRequest) async throws(OutboxError) -> OutboxReply {
        // Between two owners there is a moment in which nobody answers.
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline {
            if let core = try await takeOver() {
                do throws(OutboxError) {
                    return try await core.perform(request)
                } catch  where error.code == .closed && owner == nil {
                    // It was given away in between; nothing of this was done.
                    continue
                }
            }
            if let reply = try await OwnerGuest.ask(request, in: folder) { return reply }
            do { try await Task.sleep(for: .milliseconds(20)) } catch {
                throw OutboxError(.cancelled, "the task was cancelled before the owner of the outbox answered")
            }
        }
        throw OutboxError(
            .ownerUnreachable,
            "another process has the outbox \(path) and does not answer: look what it does, or end it")
    }

    /// Gives the queue to a process that wants to deliver from it.
    private func stepDown() {
        let old = role.withLock { role -> OutboxCore? in
            guard case .owner(let core) = role else { return nil }
            role = .guest
            return core
        }
        if let old { Task { await old.close() } }
    }

    private static let patience = Duration.seconds(10)
}

/// Lets one caller at a time do something that waits.
private actor TurnTaking {
    private var isBusy = false
    private var line: [CheckedContinuation<Void, Never>] = []

    func inTurn<Value: Sendable>(
        _ work: @Sendable () async throws(OutboxError) -> Value
    ) async throws(OutboxError) -> Value {
        if isBusy { await withCheckedContinuation { line.append($0) } } else { isBusy = true }
        defer { if line.isEmpty { isBusy = false } else { line.removeFirst().resume() } }
        return try await work()
    }
}
