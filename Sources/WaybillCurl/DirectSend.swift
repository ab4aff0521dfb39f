import WaybillCore

/// Decides when and how many bytes are sent from a file directly to the socket (`sendfile(2)`). It has no side effects;
/// all observations are parameters.
///
/// Two copies of each byte, from the file and to the socket, are most of the cost of a large upload.
struct DirectSend {
    /// Whether direct sending is allowed for this transfer. Whether it is possible is determined while sending.
    let isAllowed: Bool
    /// The position in the body after the last directly sent bytes, or `nil` if all of them are known to be
    /// acknowledged.
    private(set) var unacknowledgedEnd: Int64?
    private var pollDelay = Self.initialPollDelay

    /// The maximum per call, so that other transfers get their turn.
    static let maxBytesPerCall = 4 << 20
    /// The end of a body is always read; it is sent while the directly sent bytes are being acknowledged.
    static let alwaysReadBytes = 512 << 10
    /// The last bytes wait for that acknowledgement. Reading them includes the final check that no file was changed.
    static let finalBytes = 4 << 10
    static let initialPollDelay = Duration.milliseconds(1)
    static let maximumPollDelay = Duration.milliseconds(16)

    init(_ request: TransferRequest) {
        isAllowed = !request.sendsTLSRecords && (request.body?.length ?? 0) > 2 * Self.alwaysReadBytes
    }

    /// Returns the number of bytes that may be sent directly now.
    static func sendableCount(bytesRead: Int64, of length: Int64) -> Int {
        Int(max(0, min(Int64(maxBytesPerCall), length - bytesRead - Int64(alwaysReadBytes))))
    }

    /// Records that bytes up to `end` were sent directly.
    mutating func recordSend(end: Int64) {
        unacknowledgedEnd = end
        pollDelay = Self.initialPollDelay
    }

    /// Returns the time until the next check. It doubles each time, because the acknowledgement may take a while and
    /// the following bytes are already being sent.
    mutating func nextPollDelay() -> Duration {
        defer { pollDelay = min(pollDelay * 2, Self.maximumPollDelay) }
        return pollDelay
    }

    /// Returns how many of the following bytes may be read now; 0 to ask again later. Calls `acknowledged` only near
    /// the end.
    mutating func readable(bytesRead: Int64, of length: Int64, upTo most: Int, acknowledged: () -> Int64?) -> Int {
        guard let end = unacknowledgedEnd else { return most }
        let remaining = length - bytesRead - Int64(Self.finalBytes)
        guard remaining < most else { return most }
        if let acknowledged = acknowledged(), acknowledged < end { return Int(max(0, remaining)) }
        unacknowledgedEnd = nil
        return most
    }
}
