import Waybill
import WaybillOutbox

extension Exit {
    /// How a failure of the outbox itself ends the command.
    init(_ error: OutboxError) {
        switch error.code {
        case .ownedByAnother, .ownerUnreachable: self = .queued
        case .uploadRefused:
            if let cause = error.cause as? UploadError { self = Exit(cause, signal: nil) } else { self = .usage }
        case .notFound, .duplicate: self = .usage
        case .cancelled: self = .interrupted
        // The directory, the disk or the queue has to be repaired.
        default: self = .fatal
        }
    }

    /// How an item that has ended ends the command.
    init(_ item: OutboxItem) {
        switch item.state {
        case .done: self = .done
        // Called off, or skipped as it was asked for.
        case .cancelled: self = item.isDoubtful ? .unknown : .done
        case .failed: self = item.isDoubtful || item.reason == "outcomeUnknown" ? .unknown : Self.failed(item.reason)
        case .ready, .leased, .waiting, .verify, .paused: self = .queued
        }
    }

    /// The worse of two, in an order that has what is known of the server's side before what failed here.
    func worse(_ other: Exit) -> Exit { rank >= other.rank ? self : other }

    private var rank: Int { Self.worstLast.firstIndex(of: self) ?? Self.worstLast.count }

    private static let worstLast: [Exit] = [
        .done, .queued, .usage, .source, .sourceChanged, .transient, .rejected, .unknown, .fatal,
    ]

    private static func failed(_ reason: String?) -> Exit {
        guard let reason else { return .rejected }
        if reason.hasPrefix("status"), let status = Int(reason.dropFirst(6)) {
            return status >= 500 || OutboxRetry.statuses.contains(status) ? .transient : .rejected
        }
        if reason == "unknownKind" || reason == "uploadRefused" { return .fatal }
        if refusals.contains(reason) { return .rejected }
        switch codes[reason] {
        // It was written down wrongly: for a queued item that is a failure for good.
        case .usage?: return .rejected
        case let exit?: return exit
        // Attempts or time ran out over a network that failed.
        case nil: return .transient
        }
    }

    private static let refusals: Set<String> = [
        "rejected", "envelopeRejected", "responseTooLarge", "redirectRefused", "redirectWouldDropBody", "redirectLoop",
        "tooManyRedirects", "checksumMismatch", "unexpectedAnswer", "credentialsRejected",
    ]
}
