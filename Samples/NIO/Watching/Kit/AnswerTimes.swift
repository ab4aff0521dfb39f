import Waybill

/// How long attempts waited for their answers, told by the times of events.
///
/// `TransferMetrics.firstByte` does not serve for requests with a body: libcurl (7.88 does) may stop that clock at the first byte
/// that it sends.
struct AnswerTimes {
    private var starts: [UploadID: Duration] = [:]

    /// The time from the start of an attempt to the head of its answer, if this event is that head.
    mutating func time(of event: UploadEvent) -> Duration? {
        switch event.kind {
        case .attemptStarted: starts[event.id] = event.elapsed
        case .responseHead: return starts.removeValue(forKey: event.id).map { event.elapsed - $0 }
        case .ended: starts[event.id] = nil
        default: break
        }
        return nil
    }
}
