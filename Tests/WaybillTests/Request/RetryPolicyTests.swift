import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

@Suite struct RetryPolicyTests {
    @Test func `very long delays do not overflow`() {
        let policy = RetryPolicy(
            maxRetries: 100, baseDelay: .seconds(1 << 60), maxDelay: .seconds(1 << 61))
        let context = RetryPolicy.Context(
            attempt: 90, code: .connectionLost, outcome: .notSent, isReplayable: true, response: nil)
        #expect(policy.delay(after: context, jitter: 1) == .seconds(1 << 61))
    }

    @Test(arguments: [
        ("hostNotFound", UploadOutcome.notSent, true), ("cannotConnect", .notSent, true),
        ("connectTimeout", .notSent, true), ("tlsFailed", .notSent, true), ("connectionLost", .notSent, true),
        ("connectionLost", .incomplete(acknowledged: 5), true), ("stalled", .incomplete(acknowledged: 0), true),
        ("connectionLost", .unknown, false), ("responseTimeout", .unknown, false), ("stalled", .unknown, false),
        ("certificateNotTrusted", .notSent, false), ("bodyFailed", .incomplete(acknowledged: 5), false),
        ("cancelled", .notSent, false), ("invalidURL", .notSent, false), ("invalidRequest", .notSent, false),
        ("responseTooLarge", .rejected, false), ("connectionLost", .rejected, false),
    ])
    func `code and outcome decide whether a failure is retried`(code: String, outcome: UploadOutcome, isRetried: Bool) {
        #expect((delay(code, outcome) != nil) == isRetried)
        #expect(delay(code, outcome, isReplayable: false) == nil)
    }

    @Test(arguments: [
        (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true), (301, false),
        (307, false), (400, false), (401, false), (403, false), (404, false), (409, false), (413, false), (501, false),
    ])
    func `the status decides whether a rejection is retried`(status: Int, isRetried: Bool) {
        #expect((delay("rejected", .rejected, status: status) != nil) == isRetried)
    }

    @Test func `retriesIncomplete false disables retries of incomplete bodies`() {
        let policy = RetryPolicy(retriesIncomplete: false)
        #expect(delay("stalled", .incomplete(acknowledged: 1), policy) == nil)
        #expect(delay("stalled", .notSent, policy) != nil)
    }

    @Test func `the delay is random up to a ceiling that doubles to its cap`() {
        let policy = RetryPolicy(maxRetries: 100)
        let ceilings = [1, 2, 3, 6, 7, 40, 99].map { delay("stalled", .notSent, policy, attempt: $0, jitter: 1) }
        #expect(ceilings == [1, 2, 4, 32, 60, 60, 60].map { .seconds($0) })
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 0) == .zero)
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 0.25) == .seconds(1))
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 7) == .seconds(4))
    }

    @Test func `the standard policy retries three times`() {
        #expect(delay("stalled", .notSent, attempt: 3) != nil)
        #expect(delay("stalled", .notSent, attempt: 4) == nil)
        #expect(delay("stalled", .notSent, .none) == nil)
    }

    @Test(arguments: [
        ("7", 7), ("0", 0), ("120", 120), ("999999999", 120), ("", nil), ("-1", nil), ("1.5", nil), (" 7", 7),
        ("99999999999999999999", nil), ("Fri, 31 Dec 1999 23:59:59 GMT", nil), ("٣", nil),
    ])
    func `Retry-After in seconds is a capped minimum delay`(text: String, seconds: Int?) {
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: text])
        let context = RetryPolicy.Context(
            attempt: 1, code: .rejected, outcome: .rejected, isReplayable: true, response: head)
        #expect(RetryPolicy.standard.delay(after: context, jitter: 0) == .seconds(seconds ?? 0))
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Mon, 07 Nov 1994 08:49:37 GMT", 120), ("soon", 0),
    ])
    func `Retry-After as a date is relative to the Date of the response`(text: String, seconds: Int) {
        var head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: text])
        head.headerFields[.date] = "Sun, 06 Nov 1994 08:49:37 GMT"
        let context = RetryPolicy.Context(
            attempt: 1, code: .rejected, outcome: .rejected, isReplayable: true, response: head)
        #expect(RetryPolicy.standard.delay(after: context, jitter: 0) == .seconds(seconds))
    }

    @Test func `the longer of Retry-After and backoff applies, with its source`() {
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "1"])
        let context = RetryPolicy.Context(
            attempt: 3, code: .rejected, outcome: .rejected, isReplayable: true, response: head)
        #expect(
            RetryPolicy.standard.decision(for: context, jitter: 0.1)
                == .retry(.init(delay: .seconds(1), source: .retryAfter, limits: [])))
        #expect(
            RetryPolicy.standard.decision(for: context, jitter: 0.5)
                == .retry(.init(delay: .seconds(2), source: .backoff, limits: [])))
    }

    /// Outcome of this attempt, whether an earlier one may be stored, idempotent, window, elapsed, status, and the
    /// reason or `nil` for a retry.
    @Test(arguments: [
        Case(.unknown, window: nil, expected: "the server may have acted on the upload"),
        Case(.unknown, window: 60, expected: nil),
        Case(.unknown, window: 60, elapsed: 60, expected: nil),
        Case(.unknown, window: 60, elapsed: 61, expected: "the idempotency key may have expired on the server"),
        Case(.unknown, isIdempotent: true, expected: nil),
        Case(.unknown, status: 500, expected: "the server may have acted on the upload"),
        Case(.unknown, status: 408, expected: "the server may have acted on the upload"),
        Case(.unknown, window: 60, status: 504, expected: nil),
        Case(.unknown, isIdempotent: true, status: 502, expected: nil),
        Case(.rejected, mayBeStored: true, isIdempotent: true, status: 503, expected: nil),
        Case(.notSent, mayBeStored: true, expected: "the server may have acted on the upload"),
        Case(.notSent, mayBeStored: true, window: 60, expected: nil),
        Case(
            .notSent, mayBeStored: true, window: 60, elapsed: 99,
            expected: "the idempotency key may have expired on the server"),
        Case(.notSent, window: 60, elapsed: 99, expected: nil),
        Case(.rejected, mayBeStored: true, status: 503, expected: "the server may have acted on the upload"),
        Case(.rejected, mayBeStored: true, window: 60, status: 409, expected: nil),
        Case(.rejected, window: 60, status: 409, expected: ""),
        Case(.rejected, mayBeStored: true, status: 409, expected: ""),
        Case(.unknown, window: 60, status: 200, expected: ""),
    ])
    func `an upload that may be stored is only retried with an honoured key`(row: Case) {
        var context = RetryPolicy.Context(
            attempt: 1, code: .connectionLost, outcome: row.outcome, isReplayable: true,
            response: row.status.map { HTTPResponse(status: .init(code: $0)) })
        context.mayBeStored = row.mayBeStored
        context.isIdempotent = row.isIdempotent
        context.keyWindow = row.window.map { .seconds($0) }
        context.elapsed = .seconds(row.elapsed)
        switch RetryPolicy.standard.decision(for: context, jitter: 0) {
        case .retry: #expect(row.expected == nil)
        case .stop(let reason): #expect(reason?.description ?? "" == row.expected)
        }
    }

    @Test func `no retry starts after the deadline`() {
        let policy = RetryPolicy(deadline: .seconds(10))
        var context = RetryPolicy.Context(attempt: 1, code: .stalled, outcome: .notSent, isReplayable: true)
        context.elapsed = .seconds(9)
        #expect(policy.delay(after: context, jitter: 1) == .seconds(1))
        context.elapsed = .milliseconds(9_001)
        #expect(policy.decision(for: context, jitter: 1) == .stop(.deadlinePassed))
        #expect(policy.delay(after: context, jitter: 0.5) == .milliseconds(500))
    }

    struct Case: Sendable {
        var outcome: UploadOutcome
        var mayBeStored = false
        var isIdempotent = false
        var window: Int?
        var elapsed = 0
        var status: Int?
        var expected: String?

        init(
            _ outcome: UploadOutcome, mayBeStored: Bool = false, isIdempotent: Bool = false, window: Int? = nil,
            elapsed: Int = 0, status: Int? = nil, expected: String?
        ) {
            self.outcome = outcome
            self.mayBeStored = mayBeStored
            self.isIdempotent = isIdempotent
            self.window = window
            self.elapsed = elapsed
            self.status = status
            self.expected = expected
        }
    }

    private func delay(
        _ code: String, _ outcome: UploadOutcome, _ policy: RetryPolicy = .standard, status: Int? = nil,
        attempt: Int = 1, jitter: Double = 0.5, isReplayable: Bool = true
    ) -> Duration? {
        let context = RetryPolicy.Context(
            attempt: attempt, code: UploadError.Code(code), outcome: outcome, isReplayable: isReplayable,
            response: status.map { HTTPResponse(status: .init(code: $0)) })
        return policy.delay(after: context, jitter: jitter)
    }
}
