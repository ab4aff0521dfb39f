import TestSupport
import Testing

@testable import WaybillOutbox

/// The attempts of an item, by the rules of every store.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct HistoryTests {
    @Test(arguments: StoreKind.allCases)
    func `each attempt is stored with its times, result, status and bytes`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item())[0]
        var response = StoredResponse()
        response.status = 503
        let first = try await world.lease(now: 1_000)[0].held
        _ = try await world.at(3_500).apply([
            ItemChange(
                id, .ended(.transient("status503", delay: 10), lease: first.number), response: response, sent: 77)
        ])
        _ = try await world.lease(now: 4_000)
        let isShared = StoreKind.withLeaseDuration.contains(kind)
        #expect(try await world.recover(as: "another") == 1)
        let lost = isShared ? 4_000 + StoreWorld.leaseDuration.milliseconds : 4_000
        let third = try await world.lease(now: lost + 1_000)[0].held
        _ = try await world.at(lost + 1_500).apply([ItemChange(id, .verdict(.absent, lease: third.number))])
        let fourth = try await world.lease(now: lost + 2_000)[0]
        response.status = 201
        _ = try await world.at(lost + 2_001).apply([
            ItemChange(id, .ended(.delivered, lease: fourth.life.leaseNumber), response: response, sent: 100)
        ])
        #expect(
            try await world.store.detail(id)?.attempts == [
                OutboxAttempt(
                    number: 1, purpose: .delivery, startedAt: 1_000, endedAt: 3_500, result: "status503", status: 503,
                    sent: 77),
                OutboxAttempt(number: 2, purpose: .delivery, startedAt: 4_000, endedAt: lost, result: "interrupted"),
                OutboxAttempt(
                    number: 2, purpose: .verification, startedAt: lost + 1_000, endedAt: lost + 1_500, result: "absent"),
                OutboxAttempt(
                    number: 3, purpose: .delivery, startedAt: lost + 2_000, endedAt: lost + 2_001, result: "delivered",
                    status: 201, sent: 100),
            ])
        #expect(try await world.at(lost + 9_000).purge(olderThan: .seconds(1)) == 1)
        #expect(try await world.store.detail(id) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `the newest twenty attempts are kept, also after a retry`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item())[0]
        for number in 0..<25 {
            let now = Int64(number) * 1_000
            let lease = try #require(try await world.lease(now: now).first).held
            let end: ItemLife.Ending = number == 12 ? .refused("status400") : .aborted
            _ = try await world.at(now + 1).apply([ItemChange(id, .ended(end, lease: lease.number))])
            if number == 12 { _ = try await world.store.control(.retry, .failed) }
        }
        let attempts = try #require(try await world.store.detail(id)?.attempts)
        #expect(attempts.map(\.startedAt) == (5..<25).map { $0 * 1_000 })
        #expect(attempts.filter { $0.result != "stopped" }.map(\.result) == ["status400"])
    }

    @Test(arguments: StoreKind.allCases)
    func `an ignored report adds no attempt`(kind: StoreKind) async throws {
        let world = try await StoreWorld(kind)
        let id = try await world.add(StoreWorld.item())[0]
        let lease = try await world.lease()[0].held
        _ = try await world.store.apply([ItemChange(id, .ended(.delivered, lease: lease.number + 1))])
        _ = try await world.store.apply([ItemChange(id, .progressed(lease: lease.number))])
        #expect(try await world.store.detail(id)?.attempts == [])
    }

    @Test func `a result of several lines is stored as one line, and damaged lines are skipped`() {
        var history = AttemptHistory()
        let attempt = OutboxAttempt(number: 1, purpose: .delivery, startedAt: 5, endedAt: 4, result: "a b\nc")
        history.append(attempt)
        #expect(history.attempts.map(\.result) == ["a b c"] && history.attempts.map(\.endedAt) == [4])
        #expect(AttemptHistory(text: "x\n" + history.text + "\n1 d 2").attempts == history.attempts)
        #expect(AttemptHistory().attempts.isEmpty)
    }
}
