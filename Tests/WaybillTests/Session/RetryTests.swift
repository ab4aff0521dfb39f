import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct RetryTests {
    /// Fails after the body, without a response: the server may have stored it.
    private static let lost: TransferScript = [.connect, .receiveRest, .fail(.connectionLost)]

    private func post(
        _ world: SessionWorld, _ method: HTTPRequest.Method = .post, headers: HTTPFields = [:],
        content: UploadContent = .data([1, 2, 3]), idempotency: Idempotency = .ignored,
        retry: RetryPolicy = .standard
    ) -> UploadTask {
        let options = UploadOptions(retry: retry, idempotency: idempotency)
        return world.session.start(
            UploadRequest(method, SessionWorld.url, headers: headers, content: content, options: options))
    }

    private func keys(_ world: SessionWorld) -> [String?] {
        world.transport.transfers.map { $0.request.headers[.idempotencyKey] }
    }

    @Test func `each POST and PATCH has its own key, a PUT has none`() async throws {
        let world = SessionWorld([.responding(.ok)])
        for method in [HTTPRequest.Method.post, .patch, .put] { _ = try await post(world, method).response }
        let keys = keys(world)
        let uuid = try Regex(#""[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}""#)
        #expect(keys[0]?.wholeMatch(of: uuid) != nil && keys[1]?.wholeMatch(of: uuid) != nil)
        #expect(keys[0] != keys[1])
        #expect(keys[2] == nil)
    }

    @Test func `a random key has the fixed bits of RFC 9562`() {
        #expect(IdempotencyKey(random: (0, 0)).fieldValue == "\"00000000-0000-4000-8000-000000000000\"")
        #expect(IdempotencyKey(random: (.max, .max)).fieldValue == "\"ffffffff-ffff-4fff-bfff-ffffffffffff\"")
    }

    @Test func `a key for the queue starts with the time, as in RFC 9562 appendix A.6`() {
        let key = IdempotencyKey(milliseconds: 0x017F_22E2_79B0, random: (0xCC3, 0x18C4_DC0C_0C07_398F))
        #expect(key.text == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        #expect(IdempotencyKey(milliseconds: 0x017F_22E2_79B1, random: (0, 0)).text > key.text)
        let full = IdempotencyKey(milliseconds: 0xFFFF_FFFF_FFFF, random: (.max, .max))
        #expect(full.text == "ffffffff-ffff-7fff-bfff-ffffffffffff")
        #expect(Delivery.newIdempotencyKey() != Delivery.newIdempotencyKey())
    }

    @Test func `an unknown outcome is not retried by default`() async throws {
        let world = SessionWorld([Self.lost, .responding(.ok)])
        let error = try #require(await post(world).error())
        #expect(error.outcome == .unknown)
        #expect(error.attempts.map(\.disposition) == [.noRetry(.mayBeStored)])
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `an unknown outcome is retried with the same key if keys are honoured`() async throws {
        let world = SessionWorld([Self.lost, .responding(.conflict), .responding(.ok)])
        let task = post(world, headers: [.idempotencyKey: "\"mine\""], idempotency: .honoured(window: .seconds(60)))
        for _ in 0..<2 {
            await world.clock.sleepers(atLeast: 1)
            world.clock.advance(by: .seconds(2))
        }
        let response = try await task.response
        #expect(response.attempts.map(\.outcome) == [.unknown, .rejected, nil])
        #expect(keys(world) == ["\"mine\"", "\"mine\"", "\"mine\""])
    }

    @Test func `a generated key is kept across attempts, and its window ends the retries`() async throws {
        let world = SessionWorld([Self.lost])
        let task = post(
            world, idempotency: .honoured(window: .seconds(10)),
            retry: RetryPolicy(maxRetries: 99, baseDelay: .seconds(4), maxDelay: .seconds(4)))
        for _ in 0..<2 {
            await world.clock.sleepers(atLeast: 1)
            world.clock.advance(by: .seconds(4))
        }
        let error = try #require(await task.error())
        #expect(error.attempts.last?.disposition == .noRetry(.idempotencyWindowClosed))
        #expect(keys(world).count == 3)
        #expect(Set(keys(world)).count == 1)
    }

    @Test func `a body that can be read only once is never retried, even with a key`() async throws {
        let world = SessionWorld([Self.lost, .responding(.ok)])
        let content = UploadContent.body(FaultyBody(isReplayable: false))
        let error = try #require(
            await post(world, content: content, idempotency: .honoured(window: .seconds(60))).error())
        #expect(error.attempts.map(\.disposition) == [.noRetry(.bodyNotReplayable)])
    }

    @Test func `attempts record the source of their delay`() async throws {
        let world = SessionWorld([
            .responding(.tooManyRequests, headers: [.retryAfter: "7"]), .responding(.serviceUnavailable),
            .responding(.serviceUnavailable), .responding(.ok),
        ])
        let task = world.start()
        for delay in [7, 2, 4] {
            await world.clock.sleepers(atLeast: 1)
            #expect(world.clock.pendingSleeps == [.seconds(delay)])
            world.clock.advance(by: .seconds(delay))
        }
        let attempts = try await task.response.attempts
        #expect(
            attempts.map(\.disposition) == [
                .retry(after: .seconds(7), source: .retryAfter), .retry(after: .seconds(2), source: .backoff),
                .retry(after: .seconds(4), source: .backoff), .end,
            ])
        #expect(
            "\(attempts[0])"
                == "attempt 1: 429 Too Many Requests [retry after 7.0 seconds, as the server requested]")
    }

    @Test func `the deadline ends a series of retries`() async throws {
        let world = SessionWorld(
            [.responding(.serviceUnavailable)], retry: RetryPolicy(maxRetries: 50, deadline: .seconds(5)))
        let task = world.start()
        for delay in [1, 2] {
            await world.clock.sleepers(atLeast: 1)
            world.clock.advance(by: .seconds(delay))
        }
        let error = try #require(await task.error())
        #expect(error.attempts.count == 3)
        #expect(error.attempts.last?.disposition == .noRetry(.deadlinePassed))
        #expect(
            "\(error.attempts[2])"
                == "attempt 3: 503 Service Unavailable [no retry: the retry would start after the deadline]")
    }

    @Test func `a failing host gets only the retries of its budget`() async throws {
        let world = SessionWorld(
            [.responding(.serviceUnavailable)], slots: 64, slotsPerHost: 64,
            retry: RetryPolicy(maxRetries: 3, baseDelay: .zero))
        let tasks = (0..<40).map { _ in world.start(10) }
        var refused = 0
        for task in tasks {
            let error = try #require(await task.error())
            if error.attempts.last?.disposition == .noRetry(.budgetExhausted) { refused += 1 }
        }
        #expect(world.transport.transfers.count == 50)
        #expect(refused >= 36)
    }
}
