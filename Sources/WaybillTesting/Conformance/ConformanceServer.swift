/// The server side of a ``TransportConformance`` check.
///
/// For a transport over real sockets, this is a small server on 127.0.0.1 that can misbehave; for a test double, it is
/// the code that controls the double's behavior.
///
/// ```swift
/// struct LocalServer: ConformanceServer {
///     let server: MisbehavingServer
///     func url(for behaviour: ConformanceBehaviour) throws -> String { try server.route(behaviour) }
///     func body(at url: String) -> [UInt8] { server.requests(to: url).last?.body ?? [] }
/// }
/// ```
public protocol ConformanceServer: Sendable {
    /// Returns a unique URL for which every request is handled with this behavior.
    func url(for behaviour: ConformanceBehaviour) async throws -> String

    /// Returns the body of the last request to a URL, as far as the server has read it, without its framing.
    ///
    /// Called only after an attempt has ended successfully, so it does not have to wait.
    func body(at url: String) async throws -> [UInt8]
}

/// The behavior of a ``ConformanceServer`` for a request.
///
/// - Note: New checks may add cases. In a `switch`, include a `default` that throws, so that a check that requires an
///   unsupported behavior reports this.
public enum ConformanceBehaviour: Sendable, Hashable {
    /// Reads the whole body, then responds with the given status and text.
    case respond(Int, text: String = "")
    /// Responds with the given status before reading any byte of the body, and reads none of it: it closes its side of
    /// the connection, or leaves it open.
    case respondEarly(Int)
    /// Reads the given number of bytes of the body, then closes the connection without a response.
    case closeDuringBody(after: Int)
    /// Reads the whole body, then closes the connection in the middle of the response head.
    case truncateResponseHead
    /// Reads the whole body, sends a 200 head and half of the announced response body, then closes the connection.
    case truncateResponse
    /// Reads the given number of bytes of the body and no more, and sends nothing; the connection stays open.
    case stall(after: Int)
    /// Reads the whole body and never responds; the connection stays open.
    case silent
    /// Refuses connections.
    case refuse
}
