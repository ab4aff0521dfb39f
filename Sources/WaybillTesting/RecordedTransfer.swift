public import WaybillCore

/// What a ``ScriptedTransport`` saw of one attempt.
///
/// ```swift
/// let transfer = transport.transfers[0]
/// #expect(transfer.request.headers[.authorization] == "Bearer 1")
/// #expect(transfer.bytesTaken == 1_000)
/// let form = try transfer.form()
/// ```
public struct RecordedTransfer: Sendable {
    /// The request as the transport got it.
    public let request: TransferRequest
    /// The bytes of the body that were taken, unless they are not kept.
    public internal(set) var body: [UInt8] = []
    /// How many bytes of the body were taken.
    public internal(set) var bytesTaken: Int64 = 0
    /// How it ended; `nil` while it runs.
    public internal(set) var end: TransferEnd?

    init(request: TransferRequest) {
        self.request = request
    }
}
