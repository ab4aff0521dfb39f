public import HTTPTypes
public import WaybillCore

// Common scripts, named for the behavior of the peer.

extension TransferScript {
    // MARK: Answers

    /// Receives the whole request and responds.
    public static func responding(
        _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript {
        [.connect, .receiveRest, .respond(status, headers: headers, body: body)]
    }

    /// Responds after the given number of bytes of the body and receives no more: an early 413, or a 401 to the head.
    ///
    /// ```swift
    /// let tooLarge = TransferScript.respondingEarly(.contentTooLarge, after: 1_000_000)
    /// ```
    public static func respondingEarly(
        _ status: HTTPResponse.Status, after bytes: Int64 = 0, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript {
        [.connect, .acknowledgeHead, .receive(bytes), .respond(status, headers: headers, body: body)]
    }

    /// Receives the whole request and redirects: with 307 by default, which requests the same request again.
    public static func redirecting(
        to location: String, _ status: HTTPResponse.Status = .temporaryRedirect
    ) -> TransferScript {
        .responding(status, headers: [.location: location])
    }

    /// Receives the whole request and demands credentials: 401 with the given challenge.
    public static func unauthorized(challenge: String = #"Bearer realm="test""#) -> TransferScript {
        .responding(.unauthorized, headers: [.wwwAuthenticate: challenge])
    }

    /// Receives the whole request and responds that it is too large: 413. Use ``respondingEarly(_:after:headers:body:)``
    /// for a peer that responds earlier.
    public static func tooLarge() -> TransferScript { .responding(.contentTooLarge) }

    /// Receives the whole request and responds with 429, with a `Retry-After` in seconds or as a date.
    public static func tooManyRequests(retryAfter: String? = nil) -> TransferScript {
        .responding(.tooManyRequests, headers: retryAfter.map { [.retryAfter: $0] } ?? [:])
    }

    /// Receives the whole request and responds with 503, with a `Retry-After` in seconds or as a date.
    public static func unavailable(retryAfter: String? = nil) -> TransferScript {
        .responding(.serviceUnavailable, headers: retryAfter.map { [.retryAfter: $0] } ?? [:])
    }

    // MARK: Failures

    /// Fails before a connection is established.
    public static func failing(_ code: TransferError.Code) -> TransferScript { [.fail(code)] }

    /// Receives the head and the given number of bytes, then disconnects: `incomplete`, or `unknown` for the whole body.
    public static func breaking(after bytes: Int64) -> TransferScript {
        [.connect, .acknowledgeHead, .receive(bytes), .fail(.connectionLost)]
    }

    /// Uses a dead keep-alive connection: the given number of bytes is sent, and none is acknowledged: `notSent`, even
    /// if that is the whole body.
    public static func deadConnection(afterSending bytes: Int64 = 0) -> TransferScript {
        [.connectReused, .sendUnacknowledged(bytes), .fail(.connectionLost)]
    }

    /// Receives the whole request and closes the connection before it responds: `unknown`.
    public static let losingResponse: TransferScript = [.connect, .receiveRest, .fail(.connectionLost)]

    /// Receives the whole request and closes the connection in the middle of the response: `unknown`.
    public static func truncatingResponse(_ status: HTTPResponse.Status = .ok) -> TransferScript {
        [.connect, .receiveRest, .head(status), .fail(.responseIncomplete)]
    }

    // MARK: Silence

    /// Receives the given number of bytes and no more until the attempt is cancelled. The transport has no timeouts: to
    /// simulate a stall detected by a real transport, use `.fail(.stalled)`.
    public static func stalling(after bytes: Int64) -> TransferScript {
        [.connect, .acknowledgeHead, .receive(bytes), .hang]
    }

    /// Receives the whole request and never responds; ends when the attempt is cancelled.
    public static let silent: TransferScript = [.connect, .receiveRest, .hang]
}
