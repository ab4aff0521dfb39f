import Tracing
import Waybill

/// The spans of one upload. Each is ended once.
actor UploadSpans {
    nonisolated let tracer: any Tracer
    nonisolated let upload: any Span
    private var attempts: [Int: (span: any Span, start: UInt64)] = [:]
    private var hasEnded = false

    init(tracer: any Tracer, upload: any Span) {
        self.tracer = tracer
        self.upload = upload
    }

    /// Returns the context of an attempt, and starts its span on the first call. Returns `nil` after the end of the
    /// upload: a cancelled upload does not wait for its interceptors.
    func open(_ number: Int, _ method: HTTPRequest.Method) -> InstrumentationContext? {
        guard !hasEnded else { return nil }
        if let attempt = attempts[number] { return attempt.span.context }
        let start = DefaultTracerClock.now
        let span: any Span = tracer.startSpan(method.rawValue, context: upload.context, ofKind: .client, at: start)
        span.updateAttributes {
            $0["http.request.method"] = method.rawValue
            if number > 1 { $0["http.request.resend_count"] = number - 1 }
        }
        attempts[number] = (span, start.nanosecondsSinceEpoch)
        return span.context
    }

    /// Ends the span of an attempt now.
    func close(_ number: Int, _ report: AttemptReport) {
        guard let (span, _) = attempts.removeValue(forKey: number) else { return }
        report.write(to: span)
        span.end()
    }

    /// Ends the span of the upload. Attempts without an end event end at the time of their metrics.
    func close(_ result: Result<UploadResponse, UploadError>) {
        guard !hasEnded else { return }
        hasEnded = true
        let past: [UploadAttempt]
        switch result {
        case .success(let response):
            past = response.attempts
            upload.setStatus(SpanStatus(code: .ok))
        case .failure(let error):
            past = error.attempts
            let failure = UploadFailure(code: Dimension.code(error.code), outcome: Dimension.outcome(error.outcome))
            upload.recordError(failure)
            upload.setStatus(SpanStatus(code: .error, message: failure.description))
            upload.attributes["error.type"] = failure.code
            upload.attributes["waybill.outcome"] = failure.outcome
        }
        for attempt in past {
            guard let (span, start) = attempts.removeValue(forKey: attempt.number) else { continue }
            AttemptReport(attempt).write(to: span)
            let length = attempt.metrics.total.components
            let nanoseconds = UInt64(length.seconds) * 1_000_000_000 + UInt64(length.attoseconds / 1_000_000_000)
            span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: start + nanoseconds))
        }
        // Cancelled after the span was started and before the attempt.
        for (span, _) in attempts.values { span.end() }
        attempts = [:]
        upload.attributes["waybill.attempts"] = past.count
        upload.end()
    }
}

/// The attributes of a finished attempt.
struct AttemptReport: Sendable {
    let status: HTTPResponse.Status?
    let code: UploadError.Code?
    let sent: Int64

    init(_ end: UploadEvent.AttemptEnd) {
        (status, code, sent) = (end.status, end.code, end.sent)
    }

    init(_ attempt: UploadAttempt) {
        (status, code, sent) = (attempt.status, attempt.code, attempt.sent)
    }

    func write(to span: any Span) {
        span.attributes["waybill.sent"] = sent
        if let status { span.attributes["http.response.status_code"] = status.code }
        if let status, status.code >= 400 {
            fail(span, "\(status.code)")
        } else if code != nil {
            fail(span, Dimension.code(code))
        }
    }

    private func fail(_ span: any Span, _ type: String) {
        span.attributes["error.type"] = type
        span.setStatus(SpanStatus(code: .error, message: type))
    }
}

/// The code and the outcome of an upload error, without its message, which contains hosts and files.
struct UploadFailure: Error, CustomStringConvertible {
    let code: String
    let outcome: String

    var description: String { "\(code), \(outcome)" }
}
