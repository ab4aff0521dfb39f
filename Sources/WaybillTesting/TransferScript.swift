public import HTTPTypes
public import WaybillCore

/// What a ``ScriptedTransport`` plays for one attempt, step by step. A script without an end answers 200.
///
/// ```swift
/// let lost = TransferScript([.connect, .take(1_000), .fail(.connectionLost)])
/// let busy = TransferScript.answering(503, headers: [.retryAfter: "2"])
/// ```
public struct TransferScript: Sendable, ExpressibleByArrayLiteral {
    /// One step.
    public enum Step: Sendable {
        /// A connection is at hand.
        case connect
        /// Takes so many bytes of the body, or what is left, in pieces of at most 16 KiB; all are acknowledged.
        case take(Int64)
        /// Takes the rest of the body and acknowledges its last byte.
        case takeRest
        /// Takes so many bytes that the peer never acknowledges.
        case takeUnacknowledged(Int64)
        /// A response head is seen, and its body is not; an answer may follow.
        case head(HTTPResponse)
        /// The complete answer: the attempt ends.
        case answer(HTTPResponse, body: [UInt8])
        /// The attempt ends in an error. Without an outcome, what follows from the bytes is claimed.
        case fail(TransferError.Code, outcome: UploadOutcome?)
        /// Waits until the gate is opened.
        case wait(ScriptGate)
        /// Waits until the attempt is cancelled.
        case hang
        /// Deaf to cancelling from here on, as a peer is whose answer is already on its way.
        case ignoreCancel
    }

    /// The steps.
    public var steps: [Step]

    /// A script of steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// A script of steps.
    public init(arrayLiteral elements: Step...) {
        self.init(elements)
    }

    /// Takes everything and answers.
    public static func answering(
        _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript {
        [.connect, .takeRest, .answer(status, headers: headers, body: body)]
    }

    /// Fails before anybody is connected.
    public static func failing(_ code: TransferError.Code) -> TransferScript { [.fail(code)] }

    /// Takes so many bytes and loses the connection.
    public static func breaking(after bytes: Int64) -> TransferScript {
        [.connect, .take(bytes), .fail(.connectionLost)]
    }

    /// Takes everything and never answers; ends when it is cancelled.
    public static let silent: TransferScript = [.connect, .takeRest, .hang]
}

extension TransferScript.Step {
    /// The complete answer: the attempt ends.
    public static func answer(
        _ status: HTTPResponse.Status, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript.Step {
        .answer(HTTPResponse(status: status, headerFields: headers), body: Array(body.utf8))
    }

    /// A response head is seen.
    public static func head(_ status: HTTPResponse.Status) -> TransferScript.Step {
        .head(HTTPResponse(status: status))
    }

    /// The attempt ends in an error; its outcome is what follows from the bytes.
    public static func fail(_ code: TransferError.Code) -> TransferScript.Step { .fail(code, outcome: nil) }
}
