import HTTPTypes
import WaybillCore

/// A sink that records all events.
final class EventLog: TransferSink {
    struct State: Sendable {
        var events: [TransferEvent] = []
        /// The first end.
        var end: TransferEnd?
        /// The state of the body when the first end was reported.
        var bodyAtEnd: ProbeBody.State?
    }

    let state = Observed(State())
    let wantsProgress = true
    private let body: ProbeBody?

    init(watching body: ProbeBody?) {
        self.body = body
    }

    func transfer(_ event: TransferEvent) {
        let bodyState = body?.state.value
        state.update { state in
            state.events.append(event)
            guard case .ended(let end) = event, state.end == nil else { return }
            state.end = end
            state.bodyAtEnd = bodyState
        }
    }

    var events: [TransferEvent] { state.value.events }

    /// The events up to the first end, which do not change any more.
    var eventsToEnd: [TransferEvent] {
        let events = events
        let end = events.firstIndex { if case .ended = $0 { true } else { false } }
        return end.map { Array(events[...$0]) } ?? events
    }

    var progress: [TransferProgress] {
        eventsToEnd.compactMap { if case .progress(let progress) = $0 { progress } else { nil } }
    }

    var endCount: Int { events.count { if case .ended = $0 { true } else { false } } }

    static func describe(_ event: TransferEvent) -> String {
        switch event {
        case .connected(let connection): return "connected\(connection.isReused ? ", reused" : "")"
        case .progress(let progress): return "progress: sent \(progress.sent), acknowledged \(progress.acknowledged)"
        case .bodyAcknowledged: return "bodyAcknowledged"
        case .interimHead(let head): return "interimHead \(head.status.code)"
        case .stored(let stored): return "stored \(stored.bytes)\(stored.isConfirmed ? ", confirmed" : "")"
        case .responseHead(let head): return "responseHead \(head.status.code)"
        case .ended(let end):
            let seen = end.evidence
            let result =
                switch end.result {
                case .success(let response): "success \(response.head.status.code)"
                case .failure(let error): "failure \(error.code), outcome \(error.outcome)"
                }
            return "ended: \(result); announced \(seen.announced.map(String.init) ?? "nothing"), sent \(seen.sent), "
                + "acknowledged \(seen.acknowledged), request acknowledged \(seen.requestAcknowledged), "
                + "body complete \(seen.isBodyComplete), saw head \(seen.sawResponseHead)"
        }
    }
}
