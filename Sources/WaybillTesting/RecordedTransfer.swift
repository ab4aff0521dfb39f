public import WaybillCore

/// The record of one attempt by a ``ScriptedTransport``.
///
/// ```swift
/// let transfer = transport.transfers[0]
/// #expect(transfer.request.headers[.authorization] == "Bearer 1")
/// #expect(transfer.bytesReceived == 1_000)
/// let form = try transfer.form()
/// ```
public struct RecordedTransfer: Sendable {
    /// The request as received by the transport.
    public let request: TransferRequest
    /// The bytes of the body that were received; empty if bodies are not kept.
    public internal(set) var body: [UInt8] = []
    /// The number of bytes of the body that were received.
    public internal(set) var bytesReceived: Int64 = 0
    /// The end of the attempt; `nil` while it is in progress.
    public internal(set) var end: TransferEnd?

    init(request: TransferRequest) {
        self.request = request
    }
}
