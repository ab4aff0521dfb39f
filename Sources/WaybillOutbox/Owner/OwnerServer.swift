import Dispatch
import FoundationEssentials
import Glibc
import WaybillCore

/// The owner's end of the socket: serves the requests of other processes of the user, one at a time per connection.
final class OwnerServer: Sendable {
    private let listener: LocalSocket
    private let state = Locked(State())
    private let handler: @Sendable (OutboxRequest) async -> OutboxReply
    private struct State {
        var isOpen = true
        /// Whether the descriptor of the listening socket is still open.
        var isListening = true
        var connections: Set<Int32> = []
    }

    /// The number of threads in use.
    private let threads = Observed(1)

    /// Starts listening.
    init(
        _ directory: OutboxDirectory, handler: @escaping @Sendable (OutboxRequest) async -> OutboxReply
    ) throws(OutboxError) {
        listener = try LocalSocket.listen(in: directory.path)
        self.handler = handler
        BlockingThread.perform { [self] in
            while let connection = listener.accept() { accept(connection) }
            state.withLock { state in
                listener.close()
                state.isListening = false
            }
            threads.update { $0 -= 1 }
        }
    }

    /// Stops listening, closes all connections and waits for their threads.
    func close() async {
        shutDown()
        await threads.wait(ignoresCancellation: true) { $0 == 0 }
    }

    /// Stops listening and closes all connections without waiting.
    func shutDown() {
        state.withLock { state in
            state.isOpen = false
            if state.isListening { listener.shutDown() }
            for connection in state.connections { LocalSocket(descriptor: connection).shutDown() }
        }
    }

    private func accept(_ connection: LocalSocket) {
        let isAccepted = state.withLock { state in
            guard state.isOpen, state.connections.count < Self.maxConnections else { return false }
            state.connections.insert(connection.descriptor)
            return true
        }
        guard isAccepted else { return connection.close() }
        threads.update { $0 += 1 }
        BlockingThread.perform { [self] in
            while let frame = connection.receiveFrame(), connection.send(reply(to: frame)) {}
            state.withLock { state in
                state.connections.remove(connection.descriptor)
                // Close under the lock, so that the number is not reused before it is removed from the set.
                connection.close()
            }
            threads.update { $0 -= 1 }
        }
    }

    private func reply(to frame: [UInt8]) -> [UInt8] {
        guard let request = try? Wire.decode(OutboxRequest.self, from: frame) else {
            return Self.failure(
                "storageFailed", "The request cannot be decoded. Use the same release in both programs.")
        }
        let holder = ReplyHolder()
        let isDone = DispatchSemaphore(value: 0)
        let handler = handler
        Task {
            let reply = await handler(request)
            holder.reply.withLock { $0 = reply }
            isDone.signal()
        }
        isDone.wait()
        guard let reply = holder.reply.withLock({ $0 }), let bytes = try? Wire.encode(reply) else {
            return Self.failure("storageFailed", "The reply is too large. Request fewer items at a time.")
        }
        return bytes
    }

    private static func failure(_ code: String, _ message: String) -> [UInt8] {
        (try? Wire.encode(OutboxReply.failed(code: code, message: message))) ?? []
    }

    private static let maxConnections = 32
}

private final class ReplyHolder: Sendable {
    let reply = Locked<OutboxReply?>(nil)
}

/// The other end of the socket, in a process that does not own the outbox.
enum OwnerConnection {
    /// Sends a request to the process that owns the outbox.
    ///
    /// - Returns: `nil` if no process owns it or the connection ended; the caller may send the request again.
    /// - Throws: ``OutboxError/Code/ownerUnreachable`` if the owner has been stopped for some seconds, or does not
    ///   respond within ``OutboxRequest/timeLimit``.
    static func send(
        _ request: OutboxRequest, in directory: OutboxDirectory
    ) async throws(OutboxError) -> OutboxReply? {
        do {
            let reply: OutboxReply? = try await BlockingThread.run { () throws(any Error) in
                guard let socket = try LocalSocket.connect(in: directory.path) else { return nil }
                defer { socket.close() }
                var timeout = OwnerTimeout(owner: socket.peerProcess, limit: request.timeLimit)
                let frame: [UInt8]? =
                    socket.send(try Wire.encode(request), shouldContinue: { timeout.hasTimeLeft() })
                    ? socket.receiveFrame(shouldContinue: { timeout.hasTimeLeft() }) : nil
                guard let frame else {
                    if let failure = timeout.failure { throw failure }
                    return nil
                }
                return try Wire.decode(OutboxReply.self, from: frame)
            }
            if case .failed(let code, let message) = reply { throw OutboxError(OutboxError.Code(code), message) }
            return reply
        } catch {
            throw OutboxError(storage: error)
        }
    }
}

/// The time limits for an owner that does not respond, checked once for each second without data.
private struct OwnerTimeout {
    let owner: pid_t?
    let limit: Duration
    private let start = ContinuousClock.now
    private var stoppedSince: ContinuousClock.Instant?
    private(set) var failure: OutboxError?

    init(owner: pid_t?, limit: Duration) {
        self.owner = owner
        self.limit = limit
    }

    mutating func hasTimeLeft() -> Bool {
        let now = ContinuousClock.now
        stoppedSince = isStopped ? stoppedSince ?? now : nil
        if let stoppedSince, now - stoppedSince >= Self.maxStoppedTime, let owner {
            failure = OutboxError(
                .ownerUnreachable,
                "Process \(owner) owns the outbox and is stopped. Continue it (kill -CONT \(owner)) or terminate it.")
        } else if now - start >= limit {
            let name = owner.map { "Process \($0)" } ?? "Another process"
            failure = OutboxError(
                .ownerUnreachable,
                "\(name) owns the outbox and has not responded for \(limit.components.seconds / 60) minutes. Check or stop it."
            )
        }
        return failure == nil
    }

    /// Whether the owner is stopped by SIGSTOP or a debugger: the third field of `/proc/PID/stat` (proc(5)).
    private var isStopped: Bool {
        guard let owner, let text = try? String(contentsOfFile: "/proc/\(owner)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return false }
        return ["T", "t"].contains(text[end...].dropFirst(2).first)
    }

    private static let maxStoppedTime = Duration.seconds(4)
}
