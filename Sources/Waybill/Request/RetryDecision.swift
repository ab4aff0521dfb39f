package import HTTPTypes
package import WaybillCore

extension RetryPolicy {
    /// What a policy looks at.
    package struct Question: Sendable {
        /// The try that failed, from 1; redirects and fresh credentials don't count.
        package var attempt: Int
        /// Why; a body that failed on the way is `bodyFailed` here, whatever its own reason was.
        package var code: UploadError.Code
        /// What may be believed of it.
        package var outcome: UploadOutcome
        /// Whether the body can be sent again.
        package var isReplayable: Bool
        /// The answer, if there was a complete one.
        package var response: HTTPResponse?
        /// Whether an earlier attempt may have been acted on.
        package var mayBeStored = false
        /// Whether a second request has no further effect (RFC 9110 section 9.2.2).
        package var isIdempotent = false
        /// How long after the first attempt the server still knows the request's idempotency key; `nil` when there is no
        /// key, or nobody says that it is honoured.
        package var keyWindow: Duration?
        /// The time since the first attempt began.
        package var elapsed = Duration.zero
        /// How long of it the upload was paused, which is not the deadline's time. The server's memory knows no pause.
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

    /// A retry that the policy is for.
    package struct Plan: Sendable, Hashable {
        /// The wait before it.
        package var delay: Duration
        /// What set that.
        package var source: AttemptSequel.DelaySource
        /// The times since the first attempt, after which it must not begin any more, each with what to say then.
        package var limits: [Limit]

        package struct Limit: Sendable, Hashable {
            package var end: Duration
            package var reason: NoRetryReason
        }

        /// Why it is too late at a moment, if it is.
        package func objection(at elapsed: Duration) -> NoRetryReason? {
            limits.first { elapsed > $0.end }?.reason
        }

        /// The upload was paused for so long while the plan waited.
        mutating func add(pause: Duration) {
            for index in limits.indices where limits[index].reason == .deadlinePassed { limits[index].end += pause }
        }
    }

    package enum Answer: Sendable, Hashable {
        case retry(Plan)
        /// No; with the reason, where the failure was of a kind that may pass.
        case stop(NoRetryReason?)
    }

    /// What is to be done after a failure. The same random number in 0...1 gives the same answer.
    package func answer(to question: Question, jitter: Double) -> Answer {
        let isUncertain = (question.mayBeStored || question.outcome == .unknown) && !question.isIdempotent
        guard isWorthwhile(question, isUncertain: isUncertain) else { return .stop(nil) }
        if isUncertain, question.keyWindow == nil { return .stop(.mayBeStored) }
        let isLost = question.outcome == .unknown && question.response == nil
        if isLost, question.keyWindow == nil, !retriesLostResponses { return .stop(.mayBeStored) }
        guard question.isReplayable else { return .stop(.bodyNotReplayable) }
        guard question.attempt <= maxRetries else { return .stop(.attemptsUsedUp) }
        var plan = wait(after: question, jitter: jitter)
        if isUncertain, let window = question.keyWindow {
            plan.limits.append(Plan.Limit(end: window, reason: .idempotencyWindowClosed))
        }
        if let deadline { plan.limits.append(Plan.Limit(end: deadline + question.paused, reason: .deadlinePassed)) }
        if let objection = plan.objection(at: question.elapsed + plan.delay) { return .stop(objection) }
        return .retry(plan)
    }

    /// The wait before the next attempt, or `nil` when there must be none.
    package func delay(after question: Question, jitter: Double) -> Duration? {
        if case .retry(let plan) = answer(to: question, jitter: jitter) { plan.delay } else { nil }
    }

    private func isWorthwhile(_ question: Question, isUncertain: Bool) -> Bool {
        guard !Self.neverRetried.contains(question.code) else { return false }
        switch question.outcome {
        case .notSent: return true
        case .incomplete: return retriesIncomplete
        case .rejected:
            if question.code == .envelopeAskedForRetry { return true }
            guard let status = question.response?.status.code else { return false }
            // To somebody who asks again with the same key, 409 says that the first request is still worked on.
            return statuses.contains(status) || status == 409 && isUncertain && question.keyWindow != nil
        case .unknown:
            // A 2xx that the caller refuses is answered the same way the next time.
            return question.response.map { statuses.contains($0.status.code) } ?? true
        }
    }

    private func wait(after question: Question, jitter: Double) -> Plan {
        let wait = Backoff(from: baseDelay, to: maxDelay).time(after: question.attempt, jitter: jitter)
        let floor = min(question.response.flatMap(Self.retryAfter) ?? .zero, maxRetryAfter)
        return Plan(delay: max(wait, floor), source: floor > wait ? .retryAfter : .backoff, limits: [])
    }

    /// Failures that the next attempt would meet again, or that must not be tried around.
    static let neverRetried: Set<UploadError.Code> = [
        .cancelled, .sessionClosed, .certificateNotTrusted, .tlsSettingsUnusable, .bodyFailed, .invalidURL,
        .invalidRequest,
        .responseTooLarge, .decodingFailed, .interceptorFailed, .interceptorTimedOut, .envelopeRejected,
    ]

    /// What `Retry-After` asks for (RFC 9110 section 10.2.3). A date is read against the answer's `Date`; without one it
    /// says nothing, for our clock and the server's need not agree. A date that has passed asks for no wait.
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
