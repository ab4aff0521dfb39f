/// The other side of a ``TransportConformance``: what a check needs of a server.
///
/// For a transport over real sockets it is a small server on 127.0.0.1 that can misbehave; for a double, whatever decides
/// how the double behaves.
///
/// ```swift
/// struct LocalServer: ConformanceServer {
///     let server: MisbehavingServer
///     func url(for behaviour: ConformanceBehaviour) throws -> String { try server.route(behaviour) }
///     func body(at url: String) -> [UInt8] { server.requests(to: url).last?.body ?? [] }
/// }
/// ```
public protocol ConformanceServer: Sendable {
    /// Makes a URL of its own under which every request meets this behaviour.
    func url(for behaviour: ConformanceBehaviour) async throws -> String

    /// The body of the last request to this URL, as far as the server has read it, without its framing.
    ///
    /// It is asked after an attempt has ended in a success, so there is nothing to wait for.
    func body(at url: String) async throws -> [UInt8]
}

/// What a ``ConformanceServer`` does with a request.
///
/// - Note: The list may grow with the checks; give a `switch` over it a `default` that throws, and the check that needs
///   more than your server can do says so.
public enum ConformanceBehaviour: Sendable, Hashable {
    /// Reads the whole body, then answers with this status and this text.
    case answer(Int, text: String = "")
    /// Answers with this status before a byte of the body is read, and reads none of it: it closes its side of the
    /// connection, or leaves it open.
    case answerEarly(Int)
    /// Reads so many bytes of the body, then closes the connection, without an answer.
    case cutBody(after: Int)
    /// Reads the whole body, then closes the connection in the middle of the head of an answer.
    case cutHead
    /// Reads the whole body, sends the head of a 200 and half of the body that it announces, then closes the connection.
    case cutAnswer
    /// Reads so many bytes of the body and no more, and sends nothing; the connection stays open.
    case stall(after: Int)
    /// Reads the whole body and never answers; the connection stays open.
    case silent
    /// Nobody accepts connections there.
    case refuse
}
