import Waybill
import WaybillOutbox

extension Exit {
    /// Creates the exit status for a failure of the outbox itself.
    init(_ error: OutboxError) {
        switch error.code {
        case .ownedByAnother, .ownerUnreachable, .storeUnreachable: self = .queued
        case .uploadRefused:
            if let cause = error.cause as? UploadError { self = Exit(cause, signal: nil) } else { self = .usage }
        case .notFound, .duplicate, .filesNotShared: self = .usage
        case .cancelled: self = .interrupted
        // The directory, the disk or the queue needs repair.
        default: self = .fatal
        }
    }

    /// Creates the exit status for an item that has ended.
    init(_ item: OutboxItem) {
        switch item.state {
        case .done: self = .done
        // Cancelled, or skipped as requested.
        case .cancelled: self = item.isDoubtful ? .unknown : .done
        case .failed:
            let isUnknown = item.isDoubtful || item.reason == "outcomeUnknown" || item.reason == "responseLost"
            self = isUnknown ? .unknown : Self.failed(item.reason)
        case .ready, .leased, .waiting, .verify, .paused: self = .queued
        }
    }

    /// Returns the worse of two statuses. Statuses that report the server's state rank above local failures.
    func worse(_ other: Exit) -> Exit { severity >= other.severity ? self : other }

    private var severity: Int { Self.increasingSeverity.firstIndex(of: self) ?? Self.increasingSeverity.count }

    private static let increasingSeverity: [Exit] = [
        .done, .queued, .usage, .source, .sourceChanged, .transient, .rejected, .unknown, .fatal,
    ]

    private static func failed(_ reason: String?) -> Exit {
        guard let reason else { return .rejected }
        if reason.hasPrefix("status"), let status = Int(reason.dropFirst(6)) {
            return status >= 500 || OutboxRetry.statuses.contains(status) ? .transient : .rejected
        }
        if reason == "unknownKind" || reason == "uploadRefused" { return .fatal }
        if rejections.contains(reason) { return .rejected }
        switch codes[reason] {
        // The upload was described incorrectly, which is permanent for a queued item.
        case .usage?: return .rejected
        case let exit?: return exit
        // The attempts or the time were used up while the network failed.
        case nil: return .transient
        }
    }

    private static let rejections: Set<String> = [
        "rejected", "envelopeRejected", "responseTooLarge", "redirectRefused", "redirectWouldDropBody", "redirectLoop",
        "tooManyRedirects", "checksumMismatch", "unexpectedResponse", "credentialsRejected",
    ]
}
