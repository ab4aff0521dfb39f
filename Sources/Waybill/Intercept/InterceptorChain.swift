import HTTPTypes
import WaybillCore
import WaybillMultipart

/// A stage at which an interceptor can be called.
enum InterceptorStage: Sendable {
    case compose
    case adapt
    case transform
    case judge
}

extension UploadInterceptor {
    /// Returns whether the interceptor has to be called at a stage. Built-in interceptors declare their stages;
    /// skipping a call saves a task.
    func handles(_ stage: InterceptorStage) -> Bool {
        switch self {
        case is JSONEnvelope: stage == .judge
        case let closures as ClosureInterceptor: closures.hasClosure(for: stage)
        default: true
        }
    }
}

extension ClosureInterceptor {
    fileprivate func hasClosure(for stage: InterceptorStage) -> Bool {
        switch stage {
        case .compose: composing != nil
        case .adapt: adapting != nil
        case .transform: transforming != nil
        case .judge: judging != nil
        }
    }
}

extension RequestPlan {
    /// Returns a form with the session's common fields, after all interceptors have changed it.
    func composed(_ form: MultipartForm) async throws(UploadError) -> MultipartForm {
        try await chain.composed(commonFields?.prepended(to: form) ?? form)
    }
}

/// The interceptors of one upload in order. Each call has a time limit, and its errors are reported with the
/// interceptor's name.
struct InterceptorChain: Sendable {
    let interceptors: [any UploadInterceptor]
    let limit: Duration
    let clock: any Clock<Duration>

    var isEmpty: Bool { interceptors.isEmpty }

    /// Returns whether any interceptor has to be called at a stage.
    func handles(_ stage: InterceptorStage) -> Bool { interceptors.contains { $0.handles(stage) } }

    /// Returns the form after all interceptors have changed it.
    func composed(_ form: MultipartForm) async throws(UploadError) -> MultipartForm {
        var form = form
        for interceptor in interceptors where interceptor.handles(.compose) {
            do {
                form = try await TimeLimit.run(limit, clock: clock) { [form] in
                    var copy = form
                    try await interceptor.compose(&copy)
                    return copy
                }
            } catch {
                let failure = Self.failure(error, of: interceptor, limit)
                throw UploadError(failure.code, failure.message, phase: .preparing, cause: failure.cause)
            }
        }
        return form
    }

    /// Returns the request after all interceptors have changed it.
    ///
    /// - Throws: The error of an attempt of which no byte was sent.
    func adapted(_ request: TransferRequest, attempt: Int) async throws(TransferError) -> TransferRequest {
        var request = request
        for interceptor in interceptors where interceptor.handles(.adapt) {
            let before = OutgoingRequest(request, attempt: attempt)
            let after: OutgoingRequest
            do {
                after = try await TimeLimit.run(limit, clock: clock) {
                    var copy = before
                    try await interceptor.adapt(&copy)
                    return copy
                }
            } catch {
                let failure = Self.failure(error, of: interceptor, limit)
                throw TransferError(
                    TransferError.Code(failure.code.description), failure.message, outcome: .notSent,
                    cause: failure.cause)
            }
            if let problem = Self.problem(in: after, before: before) {
                throw TransferError(
                    .invalidRequest, "The interceptor \"\(Redaction.escaped(interceptor.name))\" \(problem)",
                    outcome: .notSent)
            }
            request.headers = after.headers
            request.url = after.url
        }
        return request
    }

    /// Returns the transformed body of a response, and the first objection of an interceptor, if any.
    func reviewed(_ response: UploadResponse) async -> (body: [UInt8], objection: ResponseValidationFailure?) {
        var response = response
        for interceptor in interceptors.reversed() where interceptor.handles(.transform) {
            do {
                response.body = try await TimeLimit.run(limit, clock: clock) { [response] in
                    try await interceptor.transform(response)
                }
            } catch {
                return (response.body, Self.objection(error, of: interceptor, limit))
            }
        }
        for interceptor in interceptors.reversed() where interceptor.handles(.judge) {
            do {
                let verdict = try await TimeLimit.run(limit, clock: clock) { [response] in
                    try await interceptor.judge(response)
                }
                if let objection = ResponseValidationFailure(verdict) { return (response.body, objection) }
            } catch {
                return (response.body, Self.objection(error, of: interceptor, limit))
            }
        }
        return (response.body, nil)
    }
}

// MARK: - Errors

extension InterceptorChain {
    private struct Failure {
        var code: UploadError.Code
        var message: String
        var cause: (any Error)?
    }

    private static func failure(_ error: any Error, of interceptor: any UploadInterceptor, _ limit: Duration) -> Failure
    {
        let name = "interceptor \"\(Redaction.escaped(interceptor.name))\""
        switch error {
        case is TimeLimit.TimeoutError:
            return Failure(
                code: .interceptorTimedOut,
                message: "The \(name) did not return within \(limit). Fix it, or raise the time limit of interceptors.")
        case is CancellationError:
            return Failure(
                code: .cancelled, message: "The upload was cancelled while the \(name) was running.", cause: error)
        default:
            return Failure(
                code: .interceptorFailed, message: "The \(name) failed. See the cause.", cause: error)
        }
    }

    private static func objection(
        _ error: any Error, of interceptor: any UploadInterceptor, _ limit: Duration
    ) -> ResponseValidationFailure {
        let failure = failure(error, of: interceptor, limit)
        return ResponseValidationFailure(
            .unreadable(failure.code.description), message: failure.message, cause: failure.cause)
    }

    private static func problem(in after: OutgoingRequest, before: OutgoingRequest) -> String? {
        for field in after.headers where TransferRequest.reservedFields.contains(field.name) {
            return "set the header field \(field.name), which is set by the transport. Remove it."
        }
        if let type = after.body?.contentType, let problem = RequestPlan.contentTypeProblem(in: after.headers, of: type)
        {
            return "set an unusable content type. \(problem)"
        }
        return nil
    }
}

extension ResponseValidationFailure {
    /// Returns `nil` for an accepted response. Text of the server is truncated to the length of a message.
    fileprivate init?(_ verdict: ResponseVerdict) {
        switch verdict {
        case .accepted: return nil
        case .rejected(let code, let message): self.init(.rejected, code: code, message: message)
        case .credentialExpired(let code, let message): self.init(.credentialExpired, code: code, message: message)
        case .retry(let code, let message): self.init(.retry, code: code, message: message)
        }
        code = Self.bounded(code)
        message = Self.bounded(message)
    }

    private static func bounded(_ text: String) -> String {
        let maxLength = 1_000
        let kept = text.unicodeScalars.prefix(maxLength)
        return Redaction.escaped(String(String.UnicodeScalarView(kept)) + (kept.endIndex < text.endIndex ? "…" : ""))
    }
}
