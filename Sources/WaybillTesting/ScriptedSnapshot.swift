import HTTPTypes
import WaybillCore

/// The state of a scripted attempt so far, and what follows from it.
struct ScriptedSnapshot {
    var evidence = TransferCounters()
    var connection: TransferConnection?
    var head: HTTPResponse?
    var accuracy = ProgressAccuracy.exact
    /// The last progress reported. The initial state is not reported.
    var reported = TransferProgress(sent: 0, acknowledged: 0, accuracy: .exact)
    var hasReportedBody = false

    var progress: TransferProgress {
        TransferProgress(sent: evidence.sent, acknowledged: evidence.acknowledged, accuracy: accuracy)
    }

    var isBodyAcknowledged: Bool { evidence.isBodyComplete && evidence.acknowledged == evidence.sent }

    func error(
        _ code: TransferError.Code, _ message: String, outcome claimed: UploadOutcome? = nil, cause: (any Error)? = nil
    ) -> TransferError {
        TransferError(
            code, message, outcome: claimed ?? UploadOutcome(of: evidence, status: head?.status), status: head?.status,
            cause: cause)
    }

    func end(_ result: Result<TransferResponse, TransferError>) -> TransferEnd {
        var metrics = TransferMetrics()
        metrics.connection = connection
        return TransferEnd(result: result, evidence: evidence, metrics: metrics)
    }
}

/// The rate at which a peer accepts bytes, on a clock that the test advances.
struct Pace {
    private let rate: ByteCount
    private let clock: ManualClock
    private let start: ManualClock.Instant
    var received: Int64 = 0
    /// Set after a sleep was interrupted; the following bytes are not delayed.
    var isInterrupted = false

    init(_ rate: ByteCount, _ clock: ManualClock) {
        self.rate = rate
        self.clock = clock
        start = clock.now
    }

    /// A tenth of the rate per second.
    var piece: Int64 { max(1, rate.bytes / 10) }

    /// Sleeps until the given number of additional bytes is due.
    ///
    /// - Returns: Whether they are due; always `false` for a cancelled task.
    func isDue(_ count: Int64) async -> Bool {
        guard !isInterrupted else { return true }
        let (seconds, rest) = (received + count).quotientAndRemainder(dividingBy: max(1, rate.bytes))
        let due = Duration.seconds(seconds) + .nanoseconds(rest * 1_000_000_000 / max(1, rate.bytes))
        do {
            try await clock.sleep(until: start.advanced(by: due))
            return true
        } catch {
            return false
        }
    }
}
