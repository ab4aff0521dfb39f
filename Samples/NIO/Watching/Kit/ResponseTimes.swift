import Waybill

/// Measures the time to the first byte of responses with the times of events.
///
/// `TransferMetrics.firstByte` is unsuitable for requests with a body: libcurl may stop that timer at the first byte sent
/// (7.88 does).
struct ResponseTimes {
    private var starts: [UploadID: Duration] = [:]

    /// Returns the time from the start of an attempt to its response head, if the event is the response head.
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
