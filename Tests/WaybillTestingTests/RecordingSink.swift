import HTTPTypes
import TestSupport
import WaybillCore

/// Records the events it receives as strings.
final class RecordingSink: TransferSink {
    let events = Watched<[String]>([])
    let outcome = Watched<UploadOutcome?>(nil)
    let accuracies = Watched<Set<ProgressAccuracy>>([])

    var wantsProgress: Bool { true }

    func transfer(_ event: TransferEvent) {
        switch event {
        case .connected: add("connected")
        case .progress(let progress):
            accuracies.update { _ = $0.insert(progress.accuracy) }
            add("progress \(progress.acknowledged)")
        case .bodyAcknowledged: add("bodyAcknowledged")
        case .interimHead(let head): add("interim \(head.status.code)")
        case .stored(let stored): add("stored \(stored.bytes)")
        case .responseHead(let head): add("head \(head.status.code)")
        case .ended(let end):
            switch end.result {
            case .success(let response): add("ended \(response.head.status.code)")
            case .failure(let error):
                outcome.update { $0 = error.outcome }
                add("ended \(error.code)")
            }
        }
    }

    private func add(_ name: String) { events.update { $0.append(name) } }
}
