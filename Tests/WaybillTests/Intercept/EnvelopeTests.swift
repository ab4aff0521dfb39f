import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct EnvelopeTests {
    private let url = SessionWorld.url

    private func verdict(_ body: String, _ configure: (inout JSONEnvelope) -> Void = { _ in }) -> ResponseVerdict {
        var envelope = JSONEnvelope()
        configure(&envelope)
        return envelope.verdict(on: Array(body.utf8))
    }

    @Test(arguments: [
        #"{"code": 0}"#, #"{"code": "0"}"#, #"{"code": 0.0}"#, #"{"code": 200, "data": {"code": 5}}"#,
        #"{"code": true}"#, #"{"data": [[[]]], "code": 0, "message": null}"#,
    ])
    func `a success code is accepted`(body: String) {
        #expect(verdict(body) == .accepted)
    }

    @Test(arguments: [
        (#"{"code": 1001, "message": "no such business"}"#, "1001", "no such business"),
        (#"{"code": "E7"}"#, "E7", ""), (#"{"code": false, "message": 5}"#, "false", "5"),
        (#"{"code": 1.5, "message": {"a": 1}}"#, "1.5", ""), (#"{"code": -1, "message": "余额不足"}"#, "-1", "余额不足"),
    ])
    func `any other code is rejected with its message`(body: String, code: String, message: String) {
        #expect(verdict(body) == .rejected(code: code, message: message))
    }

    @Test(arguments: ["", "<html>", "{", "[]", #"{"code": {"a": 1}}"#, #"{"code": null}"#, "0", #"{"Code": 0}"#])
    func `a body without an envelope is rejected, unless acceptsOthers is set`(body: String) {
        guard case .rejected(code: "", let message) = verdict(body) else {
            Issue.record("\(verdict(body))")
            return
        }
        #expect(message.hasPrefix("The response "))
        #expect(verdict(body) { $0.acceptsOthers = true } == .accepted)
    }

    @Test func `paths descend through objects and arrays`() {
        let body = #"{"head": {"ret": [{"code": "000000"}, {"code": 9, "text": "late"}]}}"#
        #expect(verdict(body) { ($0.code, $0.successCodes) = ("head.ret.0.code", ["000000"]) } == .accepted)
        #expect(
            verdict(body) { ($0.code, $0.message) = ("head.ret.1.code", "head.ret.1.text") }
                == .rejected(code: "9", message: "late"))
        #expect(
            verdict(body) { $0.code = "head.ret.2.code" }
                == .rejected(message: "The response has no \"head.ret.2.code\"."))
        #expect(verdict(body) { $0.code = "head.ret.-1.code" } != .accepted)
    }

    @Test func `a response over the limit or nested too deeply is rejected`() {
        let long = #"{"code": 0, "data": ""# + String(repeating: "x", count: 2_000) + #""}"#
        guard case .rejected = verdict(long, { $0.maximumBytes = 1_000 }) else {
            Issue.record("a long answer was read")
            return
        }
        let deep = #"{"code": 0, "a": "# + String(repeating: "[", count: 100_000)
        #expect(verdict(deep) == .rejected(message: "The response is not JSON."))
    }

    @Test func `HTTP 200 with a failure envelope throws an error with code, message and response`() async throws {
        let body = #"{"code": 1001, "message": "no\u001b[31m such business"}"#
        let (session, _, _) = SessionWorld.intercepted(
            [JSONEnvelope()], [.responding(.ok, body: body)], retry: .standard)
        let error = try #require(await session.start(.data([1]), to: url).error())
        #expect(error.code == .envelopeRejected)
        #expect(error.envelope == EnvelopeRejection(code: "1001", message: "no\\u{1b}[31m such business"))
        #expect(error.response?.text == body)
        #expect(error.outcome == .rejected)
        #expect(error.attempts.map(\.code) == [.envelopeRejected])
        #expect(!error.isRetryable)
        #expect("\(error)".contains("code 1001") && !"\(error)".contains("\u{1b}"))
    }

    @Test func `an expired credential is refreshed and the upload is sent once more`() async throws {
        let refresher = BearerRefresher(token: BearerToken(.secret("old"))) { BearerToken(.secret("new")) }
        var envelope = JSONEnvelope()
        envelope.credentialExpiredCodes = ["401"]
        let expired = TransferScript.responding(.ok, body: #"{"code": 401, "message": "expired"}"#)
        let (session, transport, _) = SessionWorld.intercepted(
            [envelope], [expired, .responding(.ok, body: #"{"code": 0}"#)]
        ) { $0.options.authentication = .refreshing(refresher) }
        let response = try await session.upload(.data([1]), to: url)
        #expect(response.attempts.map(\.disposition) == [.freshCredential, .end])
        #expect(transport.transfers.map { $0.request.headers[.authorization] } == ["Bearer old", "Bearer new"])
    }

    @Test func `an expired credential is rejected without a refresher, or after one refresh`() async throws {
        var envelope = JSONEnvelope()
        envelope.credentialExpiredCodes = ["401"]
        let expired = TransferScript.responding(.ok, body: #"{"code": 401}"#)
        let (plain, _, _) = SessionWorld.intercepted([envelope], [expired])
        #expect(await plain.start(.data([1]), to: url).error()?.envelope?.code == "401")
        let refresher = BearerRefresher { BearerToken(.secret("t")) }
        let (session, transport, _) = SessionWorld.intercepted([envelope], [expired]) {
            $0.options.authentication = .refreshing(refresher)
        }
        #expect(await session.start(.data([1]), to: url).error()?.code == .envelopeRejected)
        #expect(transport.transfers.count == 2)
    }

    @Test func `a retry code is retried by the policy, and rejected when the retries are used up`() async throws {
        var envelope = JSONEnvelope()
        envelope.retryCodes = ["503"]
        let busy = TransferScript.responding(
            .ok, headers: [.retryAfter: "0"], body: #"{"code": 503, "message": "busy"}"#)
        let policy = RetryPolicy(maxRetries: 1, baseDelay: .zero)
        let (session, transport, _) = SessionWorld.intercepted(
            [envelope], [busy, .responding(.ok, body: #"{"code": 0}"#), busy], retry: policy)
        #expect(try await session.upload(.data([1]), to: url).attempts.count == 2)
        let error = try #require(await session.start(.data([1]), to: url).error())
        #expect(error.code == .envelopeRejected)
        #expect(error.envelope?.requestsRetry == true && error.isRetryable)
        #expect(error.attempts.last?.disposition == .noRetry(.attemptsUsedUp))
        #expect(transport.transfers.count == 4)
    }

    @Test func `envelopes of other statuses are not evaluated`() async throws {
        let (session, _, _) = SessionWorld.intercepted(
            [JSONEnvelope(), .transforming("never") { _ in throw Refusal() }],
            [.responding(.badRequest, body: #"{"code": 0}"#)])
        #expect(await session.start(.data([1]), to: url).error()?.code == .rejected)
    }

    @Test func `bodies are transformed in reverse order before they are evaluated and decoded`() async throws {
        let (session, _, _) = SessionWorld.intercepted(
            [
                JSONEnvelope(), .transforming("outer") { $0.map { $0 ^ 1 } },
                .transforming("inner") { Array($0.reversed()) },
            ],
            [
                .responding(
                    .ok, body: String(decoding: #"{"code":0,"n":7}"#.utf8.map { $0 ^ 1 }.reversed(), as: UTF8.self))
            ])
        struct Answer: Decodable { let n: Int }
        let answer = try await session.upload([.text("a", "b")], to: url, as: Answer.self)
        #expect(answer.n == 7)
    }

    @Test func `a transformer that throws keeps the body in the error, with an unknown outcome`() async throws {
        let (session, _, _) = SessionWorld.intercepted(
            [.transforming("decrypt") { _ in throw Refusal(number: 3) }], [.responding(.ok, body: "sealed")],
            retry: .standard)
        let error = try #require(await session.start(.data([1]), to: url).error())
        #expect(error.code == .interceptorFailed)
        #expect(error.message.contains("\"decrypt\""))
        #expect(error.cause as? Refusal == Refusal(number: 3))
        #expect(error.response?.text == "sealed")
        #expect(error.outcome == .unknown)
        #expect(error.attempts.count == 1)
    }

    @Test func `a judge that hangs fails the upload after the limit, with the response`() async throws {
        let hang = UncancellableWait()
        defer { hang.release() }
        let (session, _, clock) = SessionWorld.intercepted(
            [
                .judging("slow") { _ in
                    await hang.wait()
                    return .accepted
                }
            ], [.responding(.ok, body: "x")]
        ) { $0.interceptorLimit = .seconds(9) }
        let task = session.start(.data([1]), to: url)
        try await hang.entered.waitUntil { $0 == 1 }
        // A timer of an earlier call may still be ending when the clock first moves.
        let mover = Task {
            while !Task.isCancelled {
                await clock.sleepers(atLeast: 1)
                clock.advance(by: .seconds(9))
                await Task.yield()
            }
        }
        let error = try #require(await task.error())
        mover.cancel()
        #expect(error.code == .interceptorTimedOut)
        #expect(error.response?.text == "x" && error.outcome == .unknown)
    }

    @Test func `a cancel while a response is evaluated fails as cancelled, with the response`() async throws {
        let hang = UncancellableWait()
        defer { hang.release() }
        let (session, _, _) = SessionWorld.intercepted(
            [
                .judging("slow") { _ in
                    await hang.wait()
                    return .accepted
                }
            ], [.responding(.ok, body: "x")])
        let task = session.start(.data([1]), to: url)
        try await hang.entered.waitUntil { $0 == 1 }
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled && error.outcome == .unknown)
        #expect(error.response?.text == "x")
    }
}
