import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ResumeTests {
    /// An upload that saves resume state in each attempt, usable or not.
    private struct ResumableTestUpload: DurableUpload {
        static let kind = "puzzle"
        var url: String
        var discardsResume: Bool
        var lane: DurableLane { DurableLane(host: "puzzle.test:80") }

        func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
            await delivery.saveResume([1])
            if discardsResume { await delivery.saveResume([]) }
            return try await delivery.session.upload(
                .data([UInt8(delivery.attempt)]), to: url, method: .post, options: delivery.options)
        }
    }

    @Test(arguments: [true, false]) func `attempts with usable resume state are not counted`(
        _ discardsResume: Bool
    ) async throws {
        let world = try OutboxWorld()
        // More than the maximum number of attempts.
        for _ in 0..<8 { world.server.script(.respond(503)) }
        var configuration = OutboxWorld.quick
        configuration.kinds = [ResumableTestUpload.self]
        configuration.retryBudget = nil
        let outbox = try await world.open(configuration)
        try await outbox.enqueue(ResumableTestUpload(url: world.server.url("/u"), discardsResume: discardsResume))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.results().first?.item)
        #expect(item.state == (discardsResume ? .failed : .done), "\(item)")
        #expect(item.reason == (discardsResume ? "status503" : nil))
        #expect(world.server.requests.count == (discardsResume ? configuration.retry.maxAttempts : 9))
        await outbox.close()
    }
}
