package import HTTPTypes
package import WaybillCore

extension RetryPolicy {
    /// The input of a retry decision.
    package struct Context: Sendable {
        /// The number of the attempt that failed, from 1. Redirects and repetitions with new credentials do not count.
        package var attempt: Int
        /// The error code. If the body failed during the transfer, this is `bodyFailed`, regardless of its own error.
        package var code: UploadError.Code
        /// The outcome of the attempt on the server.
        package var outcome: UploadOutcome
        /// Whether the body can be sent again.
        package var isReplayable: Bool
        /// The response, if there was a complete one.
        package var response: HTTPResponse?
        /// Whether the server may have acted on an earlier attempt.
        package var mayBeStored = false
        /// Whether a second request has no further effect (RFC 9110 section 9.2.2).
        package var isIdempotent = false
        /// How long after the first attempt the server still recognizes the idempotency key of the request; `nil` if
        /// there is no key, or if the server is not known to honour it.
        package var keyWindow: Duration?
        /// The time since the first attempt began.
        package var elapsed = Duration.zero
        /// The part of `elapsed` during which the upload was paused. It extends the deadline, but not the time for
        /// which the server remembers the key.
        package var paused = Duration.zero

        package init(
            attempt: Int, code: UploadError.Code, outcome: UploadOutcome, isReplayable: Bool,
            response: HTTPResponse? = nil
        ) {
            self.attempt = attempt
            self.code = code
            self.outcome = outcome
            self.isReplayable = isReplayable
            self.response = response
        }
    }

    /// A retry that the policy allows.
    package struct Plan: Sendable, Hashable {
        /// The delay before the retry.
        package var delay: Duration
        /// The source of the delay.
        package var source: AttemptDisposition.DelaySource
        /// The times since the first attempt after which the retry must not begin, each with its reason.
        package var limits: [Limit]

        package struct Limit: Sendable, Hashable {
            package var end: Duration
            package var reason: NoRetryReason
        }

        /// Returns why the retry must not begin at a time, or `nil` if it may.
        package func objection(at elapsed: Duration) -> NoRetryReason? {
            limits.first { elapsed > $0.end }?.reason
        }

        /// Extends the deadline by a time during which the upload was paused.
        mutating func add(pause: Duration) {
            for index in limits.indices where limits[index].reason == .deadlinePassed { limits[index].end += pause }
        }
    }

    package enum Decision: Sendable, Hashable {
        case retry(Plan)
        /// No retry. The reason is set if the failure was transient.
        case stop(NoRetryReason?)
    }

    /// Returns the decision after a failure. It depends only on the arguments; `jitter` is in 0...1.
    package func decision(for context: Context, jitter: Double) -> Decision {
        let isUncertain = (context.mayBeStored || context.outcome == .unknown) && !context.isIdempotent
        guard isWorthwhile(context, isUncertain: isUncertain) else { return .stop(nil) }
        if isUncertain, context.keyWindow == nil { return .stop(.mayBeStored) }
        let isLost = context.outcome == .unknown && context.response == nil
        if isLost, context.keyWindow == nil, !retriesLostResponses { return .stop(.mayBeStored) }
        guard context.isReplayable else { return .stop(.bodyNotReplayable) }
        guard context.attempt <= maxRetries else { return .stop(.attemptsUsedUp) }
        var plan = wait(after: context, jitter: jitter)
        if isUncertain, let window = context.keyWindow {
            plan.limits.append(Plan.Limit(end: window, reason: .idempotencyWindowClosed))
        }
        if let deadline { plan.limits.append(Plan.Limit(end: deadline + context.paused, reason: .deadlinePassed)) }
        if let objection = plan.objection(at: context.elapsed + plan.delay) { return .stop(objection) }
        return .retry(plan)
    }

    /// Returns the delay before the next attempt, or `nil` if there must be none.
    package func delay(after context: Context, jitter: Double) -> Duration? {
        if case .retry(let plan) = decision(for: context, jitter: jitter) { plan.delay } else { nil }
    }

    private func isWorthwhile(_ context: Context, isUncertain: Bool) -> Bool {
        guard !Self.neverRetried.contains(context.code) else { return false }
        switch context.outcome {
        case .notSent: return true
        case .incomplete: return retriesIncomplete
        case .rejected:
            if context.code == .envelopeAskedForRetry { return true }
            guard let status = context.response?.status.code else { return false }
            // For a request that repeats a key, 409 means that the first request is still being processed.
            return statuses.contains(status) || status == 409 && isUncertain && context.keyWindow != nil
        case .processed: return false
        case .unknown:
            // A 2xx status that the caller rejects would be returned again.
            return context.response.map { statuses.contains($0.status.code) } ?? true
        }
    }

    private func wait(after context: Context, jitter: Double) -> Plan {
        let wait = Backoff(from: baseDelay, to: maxDelay).delay(after: context.attempt, jitter: jitter)
        let floor = min(context.response.flatMap(Self.retryAfter) ?? .zero, maxRetryAfter)
        return Plan(delay: max(wait, floor), source: floor > wait ? .retryAfter : .backoff, limits: [])
    }

    /// Failures that would recur, or that must not be circumvented by a retry.
    static let neverRetried: Set<UploadError.Code> = [
        .cancelled, .sessionClosed, .certificateNotTrusted, .tlsSettingsUnusable, .bodyFailed, .invalidURL,
        .invalidRequest,
        .responseTooLarge, .resumptionUnsupported, .resumptionFailed, .uploadTooLarge, .responseLost, .decodingFailed,
        .interceptorFailed, .interceptorTimedOut, .envelopeRejected,
    ]

    /// Returns the delay that `Retry-After` requests (RFC 9110 section 10.2.3). A date is compared with the `Date` of
    /// the response; without `Date` it is ignored, because the clocks of client and server need not agree. A past date
    /// requests no delay.
    package static func retryAfter(of response: HTTPResponse) -> Duration? {
        guard let text = response.headerFields[.retryAfter], !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return text.utf8.count <= 9 ? Int64(text).map { .seconds($0) } : nil
        }
        guard let date = HTTPDate(text), let now = response.headerFields[.date].flatMap(HTTPDate.init) else {
            return nil
        }
        return .seconds(max(0, date.seconds - now.seconds))
    }
}
