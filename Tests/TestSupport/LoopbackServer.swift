internal import CTestSupport
package import WaybillCore

/// An HTTP/1.1 server on 127.0.0.1 whose faults are values, with threads of its own.
///
/// ```swift
/// let server = try LoopbackServer(.reset(afterBodyBytes: 1_000_000))
/// let outcome = await upload(to: server.url("/form"))
/// let request = try await server.request(0)
/// #expect(request.bodyBytesRead == 1_000_000)
/// ```
///
/// It listens on a port that the system chose, so any number of tests run at once. When it is released, or told to
/// ``stop()``, it closes what is open and its threads are joined.
package final class LoopbackServer: Sendable {
    /// What happens to a connection before its first request.
    package enum Arrival: Sendable, Hashable {
        /// Requests are served.
        case serve
        /// It is reset at once.
        case reset
        /// It gets a FIN at once.
        case finish
        /// It is held open and never read from: a port that is mute.
        case mute
    }

    /// The port.
    package let port: Int

    private let core: ServerCore
    private let acceptor: Locked<ServerThread?>

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - script: What is done with the first requests, in their order.
    ///   - otherwise: What is done with all others.
    ///   - connections: What happens to the first connections; later ones are served.
    ///   - receiveBuffer: `SO_RCVBUF` of each connection, which the kernel doubles for its own books: what the peer may
    ///     have had acknowledged ahead of what the server read.
    ///   - keepsBodies: `false` to keep only the count and the digest of bodies.
    /// - Throws: ``SystemCallFailure`` when no port can be had.
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

    /// The URL of a path, which starts with a slash.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Appends behaviours for requests to come.
    package func script(_ behaviours: Behaviour...) {
        core.script.withLock { $0.queue += behaviours }
    }

    /// Sets what is done with requests for a path (without its query), in their order; the last one is for all others.
    /// A route goes before the script.
    package func route(_ path: String, _ behaviours: Behaviour...) {
        precondition(!behaviours.isEmpty)
        core.script.withLock { $0.routes[path] = behaviours }
    }

    /// What was seen until now.
    package var state: ServerState { core.state.value }

    /// The requests until now.
    package var requests: [RecordedRequest] { state.requests }

    /// How many bytes of the body of the n-th request the server's program has read until now; 0 before it came.
    package func bodyBytesRead(ofRequest index: Int = 0) -> Int {
        let requests = state.requests
        return index < requests.count ? requests[index].bodyBytesRead : 0
    }

    /// Waits until the server has seen what is asked for.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (ServerState) -> Bool) async throws -> ServerState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until the n-th request was read to its end.
    package func request(_ index: Int) async throws -> RecordedRequest {
        try await waitUntil { $0.requests.count > index && $0.requests[index].isComplete }.requests[index]
    }

    /// Waits until the head of the n-th request was read.
    package func requestHead(_ index: Int) async throws -> RecordedRequest {
        try await waitUntil { $0.requests.count > index }.requests[index]
    }

    /// Waits until the peer has ended the n-th connection, and says how and when.
    package func peerEnd(ofConnection index: Int = 0) async throws -> (
        how: ConnectionRecord.PeerEnd, at: ContinuousClock.Instant
    ) {
        let record = try await waitUntil { state in
            state.connections.count > index && state.connections[index].peerEnd != nil
        }.connections[index]
        return (record.peerEnd!, record.peerEndedAt!)
    }

    /// Closes what is open and waits for the threads. Called by `deinit` too.
    package func stop() {
        guard let thread = acceptor.withLock({ $0.take() }) else { return }
        cts_event_raise(core.stop)
        thread.join()
    }
}

/// A system call of the test ground that failed, which is the machine's fault and not the code's.
package struct SystemCallFailure: Error, CustomStringConvertible {
    package let call: String
    package let code: Int32

    package var description: String { "\(call) failed with errno \(code)" }
}
