import HTTPTypes
import Testing
import Waybill

@testable import WaybillOutbox

@Suite struct FailureClassTests {
    private func failure(
        _ code: UploadError.Code, _ outcome: UploadOutcome, status: Int? = nil, headers: HTTPFields = [:],
        phase: UploadPhase = .sending
    ) -> FailureClass {
        let response = status.map { UploadResponse(status: HTTPResponse.Status(code: $0), headers: headers) }
        let error = UploadError(code, "why", phase: phase, outcome: outcome, response: response)
        return FailureClass(
            error, attempt: 2, policy: OutboxRetry(baseDelay: .seconds(1), maxDelay: .seconds(60)), jitter: 0.5)
    }

    @Test(arguments: [408, 409, 423, 425, 429, 500, 502, 503, 504, 509, 520, 524, 529])
    func `temporary statuses are retried`(status: Int) {
        let found = failure(.rejected, .rejected, status: status)
        #expect(found.ending == .transient("status\(status)", delay: 1_000) && found.isRetry && found.lane == nil)
    }

    @Test(arguments: [408, 500, 502, 504])
    func `a status with an unknown outcome is verified after the retry delay`(status: Int) {
        let found = failure(.rejected, .unknown, status: status)
        #expect(found.ending == .unknown("status\(status)", delay: 1_000) && found.isRetry && found.lane == nil)
        let delayed = failure(.rejected, .unknown, status: status, headers: [.retryAfter: "120"])
        #expect(delayed.ending == .unknown("status\(status)", delay: 120_000) && delayed.lane == .suspend(120_000))
    }

    @Test(arguments: [400, 404, 405, 410, 411, 413, 414, 415, 416, 422, 431, 501, 505])
    func `final statuses are refused`(status: Int) {
        let found = failure(.rejected, .rejected, status: status)
        #expect(found.ending == .refused("status\(status)") && !found.isRetry)
    }

    @Test(arguments: [401, 407])
    func `credential statuses block the lane`(status: Int) {
        let found = failure(.rejected, .rejected, status: status)
        #expect(found.ending == .lane("status\(status)") && found.lane == .block("status\(status)", jitter: 0.5))
    }

    @Test func `status 403 fails the item and counts towards blocking the lane`() {
        let found = failure(.rejected, .rejected, status: 403)
        #expect(found.ending == .refused("status403") && found.lane == .forbidden("status403", jitter: 0.5))
        #expect(failure(.rejected, .rejected, status: 404).lane == .responded)
    }

    @Test func `Retry-After pauses the whole lane, up to an hour`() {
        let found = failure(.rejected, .rejected, status: 503, headers: [.retryAfter: "120"])
        #expect(found.ending == .transient("status503", delay: 120_000) && found.lane == .suspend(120_000))
        let long = failure(.rejected, .rejected, status: 429, headers: [.retryAfter: "999999"])
        #expect(long.lane == .suspend(3_600_000))
    }

    @Test func `other failures are classified by code and outcome`() {
        #expect(failure(.responseIncomplete, .unknown).ending == .unknown("responseIncomplete"))
        // Regardless of the status: an incomplete response proves nothing.
        #expect(failure(.responseTimeout, .unknown).ending == .unknown("responseTimeout"))
        #expect(
            failure(.connectionLost, .incomplete(acknowledged: 7)).ending == .transient("connectionLost", delay: 1_000))
        #expect(failure(.connectionLost, .notSent).ending == .transient("connectionLost", delay: 1_000))
        for code in [UploadError.Code.hostNotFound, .cannotConnect, .connectTimeout] {
            #expect(failure(code, .notSent).ending == .offline(code.description))
            #expect(failure(code, .notSent).lane == .offline(jitter: 0.5))
        }
        #expect(failure(.certificateNotTrusted, .notSent).lane == .block("certificateNotTrusted", jitter: 0.5))
        #expect(
            failure(.credentialRefreshFailed, .notSent, phase: .preparing).lane
                == .block("credentialRefreshFailed", jitter: 0.5))
        #expect(
            failure(.sourceChanged, .incomplete(acknowledged: 7)).ending
                == .sourceChanged("sourceChanged", delay: 1_000))
        #expect(failure(.fileNotFound, .notSent, phase: .preparing).ending == .refused("fileNotFound"))
        #expect(failure(.cancelled, .incomplete(acknowledged: 3)).ending == .aborted)
        #expect(failure(.cancelled, .unknown).ending == .unknown("cancelled"))
    }

    @Test func `delays double up to their limit and never overflow`() {
        let policy = OutboxRetry(baseDelay: .seconds(1), maxDelay: .seconds(900))
        #expect(
            (1...12).map { policy.wait(attempt: $0, jitter: 1) / 1_000 } == [
                1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900,
            ])
        #expect(policy.wait(attempt: .max, jitter: 1) == 900_000 && policy.wait(attempt: 5, jitter: 0) == 0)
        #expect(OutboxRetry(maxDelay: .seconds(Int64.max)).wait(attempt: 60, jitter: 1) > 0)
    }
}
