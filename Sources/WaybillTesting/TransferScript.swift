public import HTTPTypes
public import WaybillCore

/// The steps of one attempt of a ``ScriptedTransport``: what the peer receives, how it responds, how the attempt ends.
///
/// ```swift
/// let lost: TransferScript = [.connect, .acknowledgeHead, .receive(1_000), .fail(.connectionLost)]
/// let busy = TransferScript.unavailable(retryAfter: "2")
/// let slow: TransferScript = [
///     .connect, .receiveAtRate(nil, perSecond: .kibibytes(10), clock: clock), .delay(.seconds(30), clock: clock),
///     .respond(.ok),
/// ]
/// ```
///
/// The outcome of the attempt follows from its steps by the rules of the real transport: a connection lost after ten
/// bytes leaves the upload `incomplete`, one lost after the last byte leaves it `unknown`, and a 200 that arrives
/// before the whole body was received is not a success. A script that receives or responds before it connects connects
/// implicitly; a script without an end receives the rest and responds with 200.
public struct TransferScript: Sendable, ExpressibleByArrayLiteral {
    /// A step. While the attempt is paused by its control, no step begins and no byte is received.
    public enum Step: Sendable {
        /// Uses a new connection.
        case connect
        /// Uses a connection that carried an earlier request and may have been closed since.
        case connectReused
        /// The peer acknowledges the head of the request, but no byte of its body.
        case acknowledgeHead
        /// The peer receives the given number of bytes of the body, or the rest if it is shorter, in pieces of at most
        /// 16 KiB, and acknowledges them.
        case receive(Int64)
        /// The peer receives the rest of the body and acknowledges its last byte.
        case receiveRest
        /// The peer receives the given number of bytes (`nil`: the rest) at an even rate of ten pieces per second, and
        /// acknowledges them. The time is that of the clock, which the test advances.
        case receiveAtRate(Int64?, perSecond: ByteCount, clock: ManualClock)
        /// The given number of bytes is sent but not acknowledged by the peer: the bytes are in buffers, or lost.
        case sendUnacknowledged(Int64)
        /// The peer acknowledges the given number of sent bytes, which is reported by a progress event.
        case acknowledge(Int64)
        /// Changes the accuracy of the following counts, as behind a proxy or with TLS. Initially they are exact.
        case accuracy(ProgressAccuracy)
        /// The head of a final response is received, but not its body; a response or failure may follow.
        case head(HTTPResponse)
        /// The complete response is received, which ends the attempt. A success before the whole body is acknowledged
        /// ends it with `TransferError.Code.bodyNotTaken`.
        case respond(HTTPResponse, body: [UInt8])
        /// The attempt ends with an error. If the outcome is `nil`, it is derived from the bytes.
        case fail(TransferError.Code, outcome: UploadOutcome?)
        /// Waits until the gate is opened.
        case wait(ScriptGate)
        /// Waits until the clock has advanced by a duration.
        case delay(Duration, clock: ManualClock)
        /// Waits until the attempt is cancelled.
        case hang
        /// Ignores cancellation from here on, as if the response were in transit. Waits at gates and clocks still end.
        case ignoreCancel
    }

    /// The steps.
    public var steps: [Step]

    /// Creates a script from steps.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// Creates a script from steps.
    public init(arrayLiteral elements: Step...) {
        self.init(elements)
    }
}

extension TransferScript.Step {
    /// The complete response is received, which ends the attempt.
    public static func respond(
        _ status: HTTPResponse.Status, headers: HTTPFields = [:], body: String = ""
    ) -> TransferScript.Step {
        .respond(HTTPResponse(status: status, headerFields: headers), body: Array(body.utf8))
    }

    /// The head of a final response is received.
    public static func head(_ status: HTTPResponse.Status, headers: HTTPFields = [:]) -> TransferScript.Step {
        .head(HTTPResponse(status: status, headerFields: headers))
    }

    /// The attempt ends with an error whose outcome is derived from the bytes.
    public static func fail(_ code: TransferError.Code) -> TransferScript.Step { .fail(code, outcome: nil) }
}
