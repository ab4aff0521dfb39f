import Metrics
import Waybill

/// Records metrics of a session's uploads with swift-metrics.
///
/// ```swift
/// let watching = UploadMetrics().watch(session)
/// let response = try await session.upload(form, to: url)
/// await session.close()
/// await watching.value                            // everything is recorded
/// ```
///
/// | label | type | dimensions |
/// | --- | --- | --- |
/// | `waybill.uploads` | counter of finished uploads | `result`, `code`, `outcome` |
/// | `waybill.upload.time` | timer, including waits and retries | none |
/// | `waybill.attempts` | counter of finished attempts | `status`, `code` |
/// | `waybill.attempt.dns` | timer of the name resolution | none |
/// | `waybill.attempt.connect` | timer of TCP | none |
/// | `waybill.attempt.tls` | timer of TLS | none |
/// | `waybill.attempt.first_byte` | timer from the start of the attempt to the response head | none |
/// | `waybill.attempt.total` | timer of the whole attempt | none |
/// | `waybill.attempt.bytes` | recorder of bytes on the wire without TLS | `direction` |
/// | `waybill.retries` | counter of scheduled retries | none |
/// | `waybill.retry.wait` | timer of the wait before a retry | none |
///
/// `result` is `success`, `failure` or `cancelled`; `code` is the name of an `UploadError.Code` or `none`; `outcome` is
/// `notSent`, `incomplete`, `rejected`, `unknown` or `none`; `status` is a class such as `5xx`, or `none`; `direction`
/// is `sent` or `received`. No dimension contains a URL, a name, an id or text of a server, so the number of series is
/// small and constant. Attempts on a reused connection record no DNS, TCP and TLS times.
public struct UploadMetrics: Sendable {
    private let prefix: String
    private let factory: any MetricsFactory
    private let uploadTime: Timer
    private let phases: [AttemptPhase: Timer]
    private let firstByte: Timer
    private let sent: Recorder
    private let received: Recorder
    private let retries: Counter
    private let retryWait: Timer

    /// Creates metrics with a prefix.
    ///
    /// - Parameters:
    ///   - prefix: The first component of all labels.
    ///   - factory: The metrics factory; by default that of the program.
    public init(prefix: String = "waybill", factory: any MetricsFactory = MetricsSystem.factory) {
        self.prefix = prefix
        self.factory = factory
        func timer(_ label: String) -> Timer {
            Timer(label: "\(prefix).\(label)", preferredDisplayUnit: .milliseconds, factory: factory)
        }
        func recorder(_ direction: String) -> Recorder {
            Recorder(label: "\(prefix).attempt.bytes", dimensions: [("direction", direction)], factory: factory)
        }
        uploadTime = timer("upload.time")
        phases = Dictionary(
            uniqueKeysWithValues: AttemptPhase.allCases.map { ($0, timer("attempt.\($0.rawValue)")) })
        firstByte = timer("attempt.first_byte")
        sent = recorder("sent")
        received = recorder("received")
        retries = Counter(label: "\(prefix).retries", factory: factory)
        retryWait = timer("retry.wait")
    }

    /// Starts recording the events of a session, until the session is closed.
    ///
    /// - Returns: The task that records. It ends after the last upload of the session; cancel it to stop earlier.
    @discardableResult
    public func watch(_ session: UploadSession) -> Task<Void, Never> {
        // Subscribe here, not in the task: the task may start after the first events of the next upload.
        let events = session.events.makeAsyncIterator()
        return Task {
            var events = events
            var responseTimes = ResponseTimes()
            while let event = await events.next() {
                record(event)
                if let time = responseTimes.time(of: event) { firstByte.record(duration: time) }
            }
        }
    }

    private func record(_ event: UploadEvent) {
        switch event.kind {
        case .attemptEnded(let end): record(end)
        case .retrying(let wait, _):
            retries.increment()
            retryWait.record(duration: wait)
        case .ended(let end):
            uploadTime.record(duration: event.elapsed)
            Counter(
                label: "\(prefix).uploads",
                dimensions: [
                    ("result", Dimension.result(end.code)), ("code", Dimension.code(end.code)),
                    ("outcome", Dimension.outcome(end.outcome)),
                ], factory: factory
            ).increment()
        default: break
        }
    }

    private func record(_ end: UploadEvent.AttemptEnd) {
        Counter(
            label: "\(prefix).attempts",
            dimensions: [("status", Dimension.status(end.status)), ("code", Dimension.code(end.code))],
            factory: factory
        ).increment()
        for (phase, time) in end.metrics.phases { phases[phase]?.record(duration: time) }
        sent.record(end.metrics.requestBytes)
        received.record(end.metrics.responseBytes)
    }
}

/// A phase of an attempt. The raw value is the last component of the label of its timer.
enum AttemptPhase: String, CaseIterable {
    case dns
    case connect
    case tls
    case total
}

extension TransferMetrics {
    /// The phases that took place, with their durations. `TransferMetrics` counts from the start of the attempt; name
    /// resolution, TCP and TLS are consecutive, so each duration is a difference.
    var phases: [(phase: AttemptPhase, time: Duration)] {
        var phases: [(AttemptPhase, Duration)] = []
        if connection?.isReused != true {
            phases.append((.dns, nameLookup))
            phases.append((.connect, connect - nameLookup))
            phases.append((.tls, tls - connect))
        }
        phases.append((.total, total))
        // A phase that was not reached is zero, and its difference zero or negative.
        return phases.filter { $0.1 > .zero }
    }
}

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
