public import HTTPTypes
public import WaybillCore

/// What a ``ScriptedTransport`` plays for one attempt, step by step: what the peer takes, what it says, how it lets go.
///
/// ```swift
/// let lost: TransferScript = [.connect, .takeHead, .take(1_000), .fail(.connectionLost)]
/// let busy = TransferScript.unavailable(retryAfter: "2")
/// let slow: TransferScript = [
///     .connect, .takeAtRate(nil, perSecond: .kibibytes(10), clock: clock), .delay(.seconds(30), clock: clock), .answer(.ok),
/// ]
/// ```
///
/// What the attempt claims at its end follows from its steps, by the rules that the real transport keeps: a connection
/// that is lost after ten bytes leaves the upload `incomplete`, one that is lost after the last byte leaves it `unknown`,
/// and a 200 that comes before the whole body was taken is no success. A script that takes or answers before it connects
/// connects first; one without an end takes what is left and answers 200.
public struct TransferScript: Sendable, ExpressibleByArrayLiteral {
    /// One step. While the attempt is paused by its control, no step begins and no byte is taken.
    public enum Step: Sendable {
        /// A fresh connection is at hand.
        case connect
        /// A connection is at hand that carried an earlier request, and may have died since.
        case connectReused
        /// The peer acknowledges the head of the request, and no byte of its body.
        case takeHead
        /// The peer takes so many bytes of the body, or what is left of it, in pieces of at most 16 KiB, and acknowledges
        /// them.
        case take(Int64)
        /// The peer takes the rest of the body and acknowledges its last byte.
        case takeRest
        /// The peer takes so many bytes (`nil`: the rest) as evenly as ten pieces a second are, and acknowledges them. The
        /// time is the clock's: a test moves it.
        case takeAtRate(Int64?, perSecond: ByteCount, clock: ManualClock)
        /// So many bytes leave, which the peer does not acknowledge: they are in buffers, or lost.
        case takeUnacknowledged(Int64)
        /// The peer acknowledges so many of the bytes that have left; a progress event tells.
        case acknowledge(Int64)
        /// From here on the counts are worth this much, as behind a proxy or under TLS. At first they are exact.
        case accuracy(ProgressAccuracy)
        /// The head of a final response is seen, and its body is not; an answer or a failure may follow.
        case head(HTTPResponse)
        /// The complete answer: the attempt ends. A success that comes before the whole body is acknowledged ends it in
        /// ``/Waybill/TransferError/Code/bodyNotTaken``.
        case answer(HTTPResponse, body: [UInt8])
        /// The attempt ends in an error. Without an outcome, what follows from the bytes is claimed.
        case fail(TransferError.Code, outcome: UploadOutcome?)
        /// Waits until the gate is opened.
        case wait(ScriptGate)
        /// Waits until the clock was moved so far.
        case delay(Duration, clock: ManualClock)
        /// Waits until the attempt is cancelled.
        case hang
        /// Deaf to cancelling from here on, as a peer is whose answer is already on its way. The waits at gates and clocks
        /// end all the same.
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
}

extension TransferScript.Step {
    /// The complete answer: the attempt ends.
    public static func answer(
        _ status: HTTPResponse.Status, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript.Step {
        .answer(HTTPResponse(status: status, headerFields: headers), body: Array(body.utf8))
    }

    /// The head of a final response is seen.
    public static func head(_ status: HTTPResponse.Status, headers: HTTPFields = [:]) -> TransferScript.Step {
        .head(HTTPResponse(status: status, headerFields: headers))
    }

    /// The attempt ends in an error; its outcome is what follows from the bytes.
    public static func fail(_ code: TransferError.Code) -> TransferScript.Step { .fail(code, outcome: nil) }
}
