internal import CTestSupport
package import WaybillCore

/// An HTTP/1.1 server on 127.0.0.1 whose faults are values. It runs on dedicated threads.
///
/// ```swift
/// let server = try LoopbackServer(.reset(afterBodyBytes: 1_000_000))
/// let outcome = await upload(to: server.url("/form"))
/// let request = try await server.request(0)
/// #expect(request.bodyBytesRead == 1_000_000)
/// ```
///
/// The system chooses the port, so any number of tests can run concurrently. When the server is released or stopped
/// with ``stop()``, it closes all connections and joins its threads.
package final class LoopbackServer: Sendable {
    /// The handling of a connection before its first request.
    package enum Arrival: Sendable, Hashable {
        /// Requests are served.
        case serve
        /// The connection is reset immediately.
        case reset
        /// A FIN is sent immediately.
        case finish
        /// The connection stays open and is never read: a silent port.
        case silent
    }

    /// The port.
    package let port: Int

    private let core: ServerCore
    private let acceptor: Locked<ServerThread?>

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - script: The behavior for the first requests, in order.
    ///   - otherwise: The behavior for all other requests.
    ///   - connections: The handling of the first connections; later ones are served.
    ///   - receiveBuffer: `SO_RCVBUF` of each connection, which the kernel doubles for its bookkeeping. It limits how
    ///     much of the peer's data is acknowledged but not yet read by the server.
    ///   - keepsBodies: `false` to keep only the count and the digest of bodies.
    /// - Throws: ``SystemCallFailure`` if no port is available.
    package init(
        _ script: Behaviour..., otherwise: Behaviour = .respond(200), connections: [Arrival] = [],
        receiveBuffer: ByteCount? = nil, keepsBodies: Bool = true
    ) throws {
        var port: UInt16 = 0
        let listener = unsafe cts_listen(Int32(receiveBuffer?.bytes ?? 0), 1_024, &port)
        guard listener >= 0 else { throw SystemCallFailure(call: "listen", code: -listener) }
        self.port = Int(port)
        let core = ServerCore(
            listener: listener, keepsBodies: keepsBodies,
            script: ServerCore.Script(connections: connections, queue: script, otherwise: otherwise))
        self.core = core
        acceptor = Locked(ServerThread { core.acceptConnections() })
    }

    deinit { stop() }

    /// Returns the URL of a path, which starts with a slash.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Appends behaviors for later requests.
    package func script(_ behaviours: Behaviour...) {
        core.script.withLock { $0.queue += behaviours }
    }

    /// Sets the behavior for requests to a path (without its query), in order; the last one repeats. A route has
    /// precedence over the script.
    package func route(_ path: String, _ behaviours: Behaviour...) {
        precondition(!behaviours.isEmpty)
        core.script.withLock { $0.routes[path] = behaviours }
    }

    /// The recorded state so far.
    package var state: ServerState { core.state.value }

    /// The requests so far.
    package var requests: [RecordedRequest] { state.requests }

    /// Returns how many body bytes of the n-th request the server has read so far; 0 before it arrives.
    package func bodyBytesRead(ofRequest index: Int = 0) -> Int {
        let requests = state.requests
        return index < requests.count ? requests[index].bodyBytesRead : 0
    }

    /// Waits until the state satisfies the condition.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (ServerState) -> Bool) async throws -> ServerState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until the n-th request has been read completely.
    package func request(_ index: Int) async throws -> RecordedRequest {
        try await waitUntil { $0.requests.count > index && $0.requests[index].isComplete }.requests[index]
    }

    /// Waits until the head of the n-th request has been read.
    package func requestHead(_ index: Int) async throws -> RecordedRequest {
        try await waitUntil { $0.requests.count > index }.requests[index]
    }

    /// Waits until the peer has closed the n-th connection, and returns how and when.
    package func peerEnd(ofConnection index: Int = 0) async throws -> (
        how: ConnectionRecord.PeerEnd, at: ContinuousClock.Instant
    ) {
        let record = try await waitUntil { state in
            state.connections.count > index && state.connections[index].peerEnd != nil
        }.connections[index]
        return (record.peerEnd!, record.peerEndedAt!)
    }

    /// Closes all connections and waits for the threads. Also called by `deinit`.
    package func stop() {
        guard let thread = acceptor.withLock({ $0.take() }) else { return }
        cts_event_raise(core.stop)
        thread.join()
    }
}

/// A failed system call of the test support, which indicates a problem of the machine and not of the tested code.
package struct SystemCallFailure: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    package var description: String { "\(call) failed with errno \(code)" }
}
