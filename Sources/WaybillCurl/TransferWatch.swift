import WaybillCore

/// The timers of a transfer. It has no side effects; time and counters are parameters.
///
/// libcurl's own stall detection (`CURLOPT_LOW_SPEED_LIMIT`) averages the bytes given to the kernel over about five
/// seconds, so it reacts late and is misled by buffers. These timers use the bytes that the peer acknowledged.
struct TransferWatch {
    /// The state of a transfer when its timers are checked.
    struct TransferSnapshot: Equatable {
        var isConnected = false
        /// Whether the caller paused the transfer, so nothing is expected of the peer.
        var isPaused = false
        var bytesRead: Int64 = 0
        var sent: Int64 = 0
        var acknowledged: Int64 = 0
        /// Whether bytes of the request, including its head, are unacknowledged.
        var hasPendingBytes = false
        /// Whether the final response arrived over HTTP/2 before the body was sent. The server is unlikely to read the
        /// rest, so the stall limit is shorter.
        var hasEarlyResponse = false
        /// Whether every byte of the request, including its body, was acknowledged, or the request only asks for a
        /// challenge.
        var isRequestAcknowledged = false
    }

    let limits: TransferLimits
    private let start: ContinuousClock.Instant
    private var lastChange: ContinuousClock.Instant
    private var last = TransferSnapshot()
    private var acknowledgedAt: ContinuousClock.Instant?

    init(limits: TransferLimits, now: ContinuousClock.Instant) {
        self.limits = limits
        start = now
        lastChange = now
    }

    /// Returns the limit that has expired, if any.
    mutating func check(_ snapshot: TransferSnapshot, now: ContinuousClock.Instant) -> TransferError.Code? {
        defer { last = snapshot }
        if let total = limits.total, now - start >= total { return .totalTimeout }
        guard snapshot.isConnected else {
            lastChange = now
            return now - start >= limits.connect ? .connectTimeout : nil
        }
        if snapshot.isPaused {
            // Time while paused does not count against the peer.
            if let since = acknowledgedAt { acknowledgedAt = since + (now - lastChange) }
            lastChange = now
            return nil
        }
        if snapshot.isRequestAcknowledged {
            lastChange = now
            let since = acknowledgedAt ?? now
            acknowledgedAt = since
            return now - since >= limits.response ? .responseTimeout : nil
        }
        // An earlier acknowledgement may belong to the request for a challenge.
        acknowledgedAt = nil
        let isOutstanding =
            snapshot.hasPendingBytes || snapshot.acknowledged < snapshot.sent || snapshot.sent < snapshot.bytesRead
        let hasChanged = snapshot.acknowledged != last.acknowledged || snapshot.sent != last.sent || !last.isConnected
        if hasChanged || !isOutstanding {
            lastChange = now
            return nil
        }
        if snapshot.hasEarlyResponse {
            return now - lastChange >= min(limits.stall, .milliseconds(500)) ? .bodyNotTaken : nil
        }
        return now - lastChange >= limits.stall ? .stalled : nil
    }

    /// Returns the interval between checks, which is just short enough for the shortest limit.
    static func interval(for limits: TransferLimits) -> Duration {
        let shortest = min(limits.connect, limits.stall, limits.response, limits.total ?? .seconds(3_600))
        return max(.milliseconds(5), min(.milliseconds(250), shortest / 8))
    }
}
