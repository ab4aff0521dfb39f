public import HTTPTypes
public import WaybillCore

// Scripts that are often wanted, named for what the peer does.

extension TransferScript {
    // MARK: Answers

    /// Takes everything and answers.
    public static func answering(
        _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript {
        [.connect, .takeRest, .answer(status, headers: headers, body: body)]
    }

    /// Answers when it has taken so many bytes of the body, and takes no more: an early 413, or a 401 to the head alone.
    ///
    /// ```swift
    /// let tooLarge = TransferScript.answeringEarly(.contentTooLarge, after: 1_000_000)
    /// ```
    public static func answeringEarly(
        _ status: HTTPResponse.Status, after bytes: Int64 = 0, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript {
        [.connect, .takeHead, .take(bytes), .answer(status, headers: headers, body: body)]
    }

    /// Takes everything and sends it elsewhere: 307 by default, which asks for the same request again.
    public static func redirecting(
        to location: String, _ status: HTTPResponse.Status = .temporaryRedirect
    ) -> TransferScript {
        .answering(status, headers: [.location: location])
    }

    /// Takes everything and asks for credentials: 401 with this challenge.
    public static func unauthorized(challenge: String = #"Bearer realm="test""#) -> TransferScript {
        .answering(.unauthorized, headers: [.wwwAuthenticate: challenge])
    }

    /// Takes everything and answers that it is too large: 413. ``answeringEarly(_:after:headers:body:)`` is the peer that
    /// says so before.
    public static func tooLarge() -> TransferScript { .answering(.contentTooLarge) }

    /// Takes everything and answers that it was asked too often: 429, with a `Retry-After` in seconds or as a date.
    public static func tooManyRequests(retryAfter: String? = nil) -> TransferScript {
        .answering(.tooManyRequests, headers: retryAfter.map { [.retryAfter: $0] } ?? [:])
    }

    /// Takes everything and answers that it can't now: 503, with a `Retry-After` in seconds or as a date.
    public static func unavailable(retryAfter: String? = nil) -> TransferScript {
        .answering(.serviceUnavailable, headers: retryAfter.map { [.retryAfter: $0] } ?? [:])
    }

    // MARK: Failures

    /// Fails before anybody is connected.
    public static func failing(_ code: TransferError.Code) -> TransferScript { [.fail(code)] }

    /// Takes the head and so many bytes of the body and drops the connection: `incomplete`, or `unknown` when the body was
    /// no longer than that.
    public static func breaking(after bytes: Int64) -> TransferScript {
        [.connect, .takeHead, .take(bytes), .fail(.connectionLost)]
    }

    /// A kept-alive connection that is dead: so many bytes leave, none is acknowledged: `notSent`, even if that was
    /// the whole body.
    public static func deadConnection(afterSending bytes: Int64 = 0) -> TransferScript {
        [.connectReused, .takeUnacknowledged(bytes), .fail(.connectionLost)]
    }

    /// Takes everything, and is gone before it has answered: `unknown`.
    public static let losingAnswer: TransferScript = [.connect, .takeRest, .fail(.connectionLost)]

    /// Takes everything, answers, and is gone in the middle of the answer: `unknown`.
    public static func cuttingAnswer(_ status: HTTPResponse.Status = .ok) -> TransferScript {
        [.connect, .takeRest, .head(status), .fail(.responseIncomplete)]
    }

    // MARK: Silence

    /// Takes so many bytes and no more, until the attempt is cancelled. The double knows no limits: for a stall that a
    /// real transport would have ended, say `.fail(.stalled)`.
    public static func stalling(after bytes: Int64) -> TransferScript { [.connect, .takeHead, .take(bytes), .hang] }

    /// Takes everything and never answers; ends when it is cancelled.
    public static let silent: TransferScript = [.connect, .takeRest, .hang]
}
