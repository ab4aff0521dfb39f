import WaybillCore

/// The timers of a transfer. Pure: the clock is handed in, and so is what was seen.
///
/// libcurl's own stall detection (`CURLOPT_LOW_SPEED_LIMIT`) looks at a mean of some five seconds of bytes given to the
/// kernel, which fires late and is fooled by buffers; this one looks at what the peer acknowledged.
struct TransferWatch {
    /// What the engine sees at a tick.
    struct Sight: Equatable {
        var isConnected = false
        /// Whether the caller paused the transfer: nothing is expected of the peer then.
        var isPaused = false
        var handedOver: Int64 = 0
        var sent: Int64 = 0
        var acknowledged: Int64 = 0
        /// Whether bytes of the request, its head included, wait in the socket for their acknowledgement.
        var hasPendingBytes = false
        /// Whether the final response came over HTTP/2 before the body was taken. The server will hardly read the rest, so the
        /// stall limit is shorter.
        var hasEarlyAnswer = false
        /// Whether every byte of the request, its body included, was acknowledged, or it was one without the body.
        var isRequestAcknowledged = false
    }

    let limits: TransferLimits
    private let start: ContinuousClock.Instant
    private var lastMove: ContinuousClock.Instant
    private var last = Sight()
    private var acknowledgedAt: ContinuousClock.Instant?

    init(limits: TransferLimits, now: ContinuousClock.Instant) {
        self.limits = limits
        start = now
        lastMove = now
    }

    /// The limit that has run out, if one has.
    mutating func check(_ sight: Sight, now: ContinuousClock.Instant) -> TransferError.Code? {
        defer { last = sight }
        if let total = limits.total, now - start >= total { return .totalTimeout }
        guard sight.isConnected else {
            lastMove = now
            return now - start >= limits.connect ? .connectTimeout : nil
        }
        if sight.isPaused {
            // The pause is not the peer's time.
            if let since = acknowledgedAt { acknowledgedAt = since + (now - lastMove) }
            lastMove = now
            return nil
        }
        if sight.isRequestAcknowledged {
            lastMove = now
            let since = acknowledgedAt ?? now
            acknowledgedAt = since
            return now - since >= limits.response ? .responseTimeout : nil
        }
        // What was acknowledged before may have been a request that only asks for a challenge.
        acknowledgedAt = nil
        let isOutstanding = sight.hasPendingBytes || sight.acknowledged < sight.sent || sight.sent < sight.handedOver
        let moved = sight.acknowledged != last.acknowledged || sight.sent != last.sent || !last.isConnected
        if moved || !isOutstanding {
            lastMove = now
            return nil
        }
        if sight.hasEarlyAnswer {
            return now - lastMove >= min(limits.stall, .milliseconds(500)) ? .bodyNotTaken : nil
        }
        return now - lastMove >= limits.stall ? .stalled : nil
    }

    /// How often it is worth looking: often enough for the shortest limit, and no oftener.
    static func interval(for limits: TransferLimits) -> Duration {
        let shortest = min(limits.connect, limits.stall, limits.response, limits.total ?? .seconds(3_600))
        return max(.milliseconds(5), min(.milliseconds(250), shortest / 8))
    }
}
