import Tracing
import Waybill

/// Traces one upload: a span for all of it, and one for each attempt, whose context goes to the server in the header fields
/// that the tracer wants (`traceparent` with one that speaks W3C Trace Context).
///
/// `UploadSession.send(_:tracedBy:)` does all of it. By hand, with a handle:
///
/// ```swift
/// let tracing = UploadTracing()
/// request.interceptors.append(tracing)            // last, so that its spans don't hold the work of others
/// let task = session.start(request)
/// await tracing.follow(task)
/// ```
///
/// It is made for each upload and not once for a session, because a trace belongs to whoever asked for the upload. A hop to
/// another origin gets its span and no header field: what interceptors add stays behind there.
///
/// A span of an attempt is called like its method, has `http.request.method`, `http.response.status_code`,
/// `http.request.resend_count`, `error.type` and `waybill.sent` (body bytes); that of the upload is called `upload` and has
/// `waybill.attempts` and `waybill.outcome`. URLs, names and words of a server are in neither.
public struct UploadTracing: UploadInterceptor {
    private let spans: UploadSpans

    /// Opens the span of an upload.
    ///
    /// - Parameters:
    ///   - tracer: Whose spans; the program's own unless told otherwise.
    ///   - context: What the span is a child of; the current one unless told otherwise.
    public init(
        tracer: any Tracer = InstrumentationSystem.tracer,
        context: InstrumentationContext = .current ?? .topLevel
    ) {
        spans = UploadSpans(tracer: tracer, upload: tracer.startSpan("upload", context: context, ofKind: .internal))
    }

    /// Opens the span of an attempt and puts its context into the header fields.
    public func adapt(_ request: inout OutgoingRequest) async throws {
        guard let context = await spans.open(request.attempt, request.method) else { return }
        spans.tracer.inject(context, into: &request.headers, using: HeaderInjector())
    }

    /// Closes the spans as the attempts end, and returns when the upload has.
    ///
    /// A task that is cancelled in here cancels the upload, as one that waits for the response does.
    ///
    /// - Returns: How the upload ended.
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
    /// Sends a request under a span that is a child of the current one, and waits for the answer.
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

/// Writes what a tracer wants to pass on into header fields. A key that is no field name is left out.
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
