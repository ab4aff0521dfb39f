import Metrics
import Waybill

/// Records what a session's uploads do to whatever swift-metrics was set up with.
///
/// ```swift
/// let watching = UploadMetrics().watch(session)
/// let response = try await session.upload(form, to: url)
/// await session.close()
/// await watching.value                            // everything is recorded
/// ```
///
/// | label | kind | dimensions |
/// | --- | --- | --- |
/// | `waybill.uploads` | counter, one for each upload that ended | `result`, `code`, `outcome` |
/// | `waybill.upload.time` | timer, waits and retries included | none |
/// | `waybill.attempts` | counter, one for each attempt that ended | `status`, `code` |
/// | `waybill.attempt.dns` | timer, of the look-up of the name | none |
/// | `waybill.attempt.connect` | timer, of TCP alone | none |
/// | `waybill.attempt.tls` | timer, of TLS alone | none |
/// | `waybill.attempt.first_byte` | timer, from the attempt's start until the answer begins | none |
/// | `waybill.attempt.total` | timer, of the whole attempt | none |
/// | `waybill.attempt.bytes` | recorder, of bytes on the wire without TLS | `direction` |
/// | `waybill.retries` | counter, one for each retry that was decided on | none |
/// | `waybill.retry.wait` | timer, of the wait before it | none |
///
/// `result` is `success`, `failure` or `cancelled`; `code` the word of `UploadError.Code`, or `none`; `outcome` one of `notSent`,
/// `incomplete`, `rejected`, `unknown` and `none`; `status` the class of the status, as in `5xx`, or `none`; `direction` is `sent` or
/// `received`. No dimension holds a URL, a name, an id or words of a server, so there are few series however many uploads there
/// are. A connection that was kept alive adds nothing to the timers of its making.
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

    /// Metrics under a prefix.
    ///
    /// - Parameters:
    ///   - prefix: What all labels begin with.
    ///   - factory: Where they go; the program's own unless told otherwise.
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

    /// Records all that happens to a session's uploads from now on, until the session is closed.
    ///
    /// - Returns: The task that listens. It ends after the session's last upload; cancel it to stop earlier.
    @discardableResult
    public func watch(_ session: UploadSession) -> Task<Void, Never> {
        // Listening begins here, not when the task gets its thread: an upload started next is heard from its first event.
        let events = session.events.makeAsyncIterator()
        return Task {
            var events = events
            var answers = AnswerTimes()
            while let event = await events.next() {
                record(event)
                if let time = answers.time(of: event) { firstByte.record(duration: time) }
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
