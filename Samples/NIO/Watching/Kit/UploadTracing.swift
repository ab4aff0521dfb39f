import Tracing
import Waybill

/// Traces one upload with a span, and each attempt with a child span. The tracer propagates the context of an attempt
/// to the server in header fields (`traceparent` for W3C Trace Context).
///
/// `UploadSession.send(_:tracedBy:)` traces a request. To trace an upload task:
///
/// ```swift
/// let tracing = UploadTracing()
/// request.interceptors.append(tracing)            // last, so that spans exclude other interceptors
/// let task = session.start(request)
/// await tracing.follow(task)
/// ```
///
/// Create a value for each upload, because the parent span belongs to its caller. A redirect to another origin gets a
/// span but no header field: header fields of interceptors are dropped on cross-origin redirects.
///
/// The span of an attempt has the name of the method and the attributes `http.request.method`,
/// `http.response.status_code`, `http.request.resend_count`, `error.type` and `waybill.sent` (body bytes). The span of
/// the upload has the name `upload` and the attributes `waybill.attempts`, `waybill.outcome` and `error.type`. Neither
/// contains URLs, names or text of a server.
public struct UploadTracing: UploadInterceptor {
    private let spans: UploadSpans

    /// Starts the span of an upload.
    ///
    /// - Parameters:
    ///   - tracer: The tracer; by default that of the program.
    ///   - context: The parent context; by default the current one.
    public init(
        tracer: any Tracer = InstrumentationSystem.tracer,
        context: InstrumentationContext = .current ?? .topLevel
    ) {
        spans = UploadSpans(tracer: tracer, upload: tracer.startSpan("upload", context: context, ofKind: .internal))
    }

    /// Starts the span of an attempt and injects its context into the header fields.
    public func adapt(_ request: inout OutgoingRequest) async throws {
        guard let context = await spans.open(request.attempt, request.method) else { return }
        spans.tracer.inject(context, into: &request.headers, using: HeaderInjector())
    }

    /// Ends the spans with their attempts, and returns after the end of the upload.
    ///
    /// Cancelling the calling task cancels the upload, as it does for `UploadTask.response`.
    ///
    /// - Returns: The result of the upload.
    @discardableResult
    public func follow(_ task: UploadTask) async -> Result<UploadResponse, UploadError> {
        async let listening: Void = listen(to: task)
        let result: Result<UploadResponse, UploadError>
        do throws(UploadError) {
            result = .success(try await task.response)
        } catch {
            result = .failure(error)
        }
        await listening
        await spans.close(result)
        return result
    }

    private func listen(to task: UploadTask) async {
        for await event in task.events {
            switch event.kind {
            case .attemptStarted(let method): _ = await spans.open(event.attempt, method)
            case .attemptEnded(let end):
                await spans.close(event.attempt, AttemptReport(end))
            case .retrying(let wait, _): spans.upload.addEvent(.retry(after: wait))
            case .paused: spans.upload.addEvent("paused")
            case .resumed: spans.upload.addEvent("resumed")
            default: break
            }
        }
    }
}

extension UploadSession {
    /// Sends a request in a child span of the current span, and waits for the response.
    ///
    /// - Throws: `UploadError`.
    public func send(
        _ request: UploadRequest, tracedBy tracer: any Tracer
    ) async throws(UploadError) -> UploadResponse {
        let tracing = UploadTracing(tracer: tracer)
        var request = request
        request.interceptors.append(tracing)
        return try await tracing.follow(start(request)).get()
    }
}

/// Injects a trace context into header fields. Keys that are not valid field names are skipped.
struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
        guard let name = HTTPField.Name(key) else { return }
        fields[name] = value
    }
}

extension SpanEvent {
    fileprivate static func retry(after wait: Duration) -> SpanEvent {
        SpanEvent(name: "retry", attributes: ["waybill.wait": .string("\(wait)")])
    }
}
