import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

@Suite struct RetryPolicyTests {
    @Test(arguments: [
        ("hostNotFound", UploadOutcome.notSent, true), ("cannotConnect", .notSent, true),
        ("connectTimeout", .notSent, true), ("tlsFailed", .notSent, true), ("connectionLost", .notSent, true),
        ("connectionLost", .incomplete(acknowledged: 5), true), ("stalled", .incomplete(acknowledged: 0), true),
        ("connectionLost", .unknown, false), ("responseTimeout", .unknown, false), ("stalled", .unknown, false),
        ("certificateNotTrusted", .notSent, false), ("bodyFailed", .incomplete(acknowledged: 5), false),
        ("cancelled", .notSent, false), ("invalidURL", .notSent, false), ("invalidRequest", .notSent, false),
        ("responseTooLarge", .rejected, false), ("connectionLost", .rejected, false),
    ])
    func `what is retried`(code: String, outcome: UploadOutcome, isRetried: Bool) {
        #expect((delay(code, outcome) != nil) == isRetried)
        #expect(delay(code, outcome, isReplayable: false) == nil)
    }

    @Test(arguments: [
        (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true), (301, false),
        (307, false), (400, false), (401, false), (403, false), (404, false), (409, false), (413, false), (501, false),
    ])
    func `which refusals say "not now"`(status: Int, isRetried: Bool) {
        #expect((delay("rejected", .rejected, status: status) != nil) == isRetried)
    }

    @Test func `incomplete bodies are left alone where the caller says so`() {
        let policy = RetryPolicy(retriesIncomplete: false)
        #expect(delay("stalled", .incomplete(acknowledged: 1), policy) == nil)
        #expect(delay("stalled", .notSent, policy) != nil)
    }

    @Test func `the wait is random up to a ceiling that doubles to its cap`() {
        let policy = RetryPolicy(maxRetries: 100)
        let ceilings = [1, 2, 3, 6, 7, 40, 99].map { delay("stalled", .notSent, policy, attempt: $0, jitter: 1) }
        #expect(ceilings == [1, 2, 4, 32, 60, 60, 60].map { .seconds($0) })
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 0) == .zero)
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 0.25) == .seconds(1))
        #expect(delay("stalled", .notSent, policy, attempt: 3, jitter: 7) == .seconds(4))
    }

    @Test func `three retries and no more`() {
        #expect(delay("stalled", .notSent, attempt: 3) != nil)
        #expect(delay("stalled", .notSent, attempt: 4) == nil)
        #expect(delay("stalled", .notSent, .none) == nil)
    }

    @Test(arguments: [
        ("7", 7), ("0", 0), ("120", 120), ("999999999", 120), ("", nil), ("-1", nil), ("1.5", nil), (" 7", 7),
        ("99999999999999999999", nil), ("Fri, 31 Dec 1999 23:59:59 GMT", nil), ("٣", nil),
    ])
    func `Retry-After in seconds is a floor with a cap`(text: String, seconds: Int?) {
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: text])
        let question = RetryPolicy.Question(
            attempt: 1, code: .rejected, outcome: .rejected, isReplayable: true, response: head)
        #expect(RetryPolicy.standard.delay(after: question, jitter: 0) == .seconds(seconds ?? 0))
    }

    private func delay(
        _ code: String, _ outcome: UploadOutcome, _ policy: RetryPolicy = .standard, status: Int? = nil,
        attempt: Int = 1, jitter: Double = 0.5, isReplayable: Bool = true
    ) -> Duration? {
        let question = RetryPolicy.Question(
            attempt: attempt, code: UploadError.Code(code), outcome: outcome, isReplayable: isReplayable,
            response: status.map { HTTPResponse(status: .init(code: $0)) })
        return policy.delay(after: question, jitter: jitter)
    }
}
