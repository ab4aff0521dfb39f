import WaybillCore

// Checks of the control of an attempt.

extension TransportConformance {
    static let controlChecks = [
        Check("cancelling right after the start ends the attempt", cancelsImmediately),
        Check("cancelling while the body is sent ends the attempt", cancelsWhileSending),
        Check("cancelling while the response is awaited ends the attempt", cancelsWhileWaiting),
        Check("calls after the end do nothing", ignoresLateCalls),
        Check("a paused attempt reads no bytes until it is resumed", pauses),
        Check("a paused attempt can be cancelled", cancelsWhilePaused),
    ]

    private static func cancelsImmediately(_ context: ConformanceContext) async throws(TestingError) {
        _ = try await context.start(ProbeBody(.whole(1_000)), .silent).cancel()
        _ = try await context.start(nil, .silent).cancel()
    }

    private static func cancelsWhileSending(_ context: ConformanceContext) async throws(TestingError) {
        let waiting = try await context.start(ProbeBody(.inTwo(2_000, first: 1_000)), .silent)
        try await waiting.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        waiting.control.cancel()
        _ = try await waiting.cancel()

        let stalled = try await context.start(ProbeBody(.whole(Scenario.large)), .stall(after: 1_000))
        try await stalled.wait(for: "fewer than 1,000 bytes of the body were read") { $0.yielded >= 1_000 }
        _ = try await stalled.cancel()
    }

    private static func cancelsWhileWaiting(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.whole(1_000)), .silent)
        try await attempt.bodyIsAcknowledged()
        let error = try await attempt.cancel()
        try attempt.expect(error.outcome == .unknown, "the outcome is \(error.outcome), not unknown")
    }

    private static func ignoresLateCalls(_ context: ConformanceContext) async throws(TestingError) {
        let transport = context.makeTransport()
        let attempt = try await context.start(ProbeBody(.whole(1_000)), .respond(200), on: transport)
        _ = try await attempt.end()
        let count = attempt.log.events.count
        attempt.control.pause()
        attempt.control.limit(to: .kibibytes(1))
        attempt.control.cancel()
        attempt.control.resume()
        attempt.control.cancel()
        try await context.runUnrelatedAttempt(on: transport)
        try attempt.expect(attempt.log.events.count == count, "a call after the end caused an event")
    }

    private static func pauses(_ context: ConformanceContext) async throws(TestingError) {
        let transport = context.makeTransport()
        let body = ProbeBody(.inTwo(2_000, first: 1_000))
        let attempt = try await context.start(body, .respond(200), on: transport)
        try await attempt.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        attempt.control.pause()
        try await context.runUnrelatedAttempt(on: transport)
        let readCount = body.state.value.readCount
        body.resume()
        for _ in 0..<3 { try await context.runUnrelatedAttempt(on: transport) }
        try attempt.expect(body.state.value.readCount == readCount, "the body was read while the attempt was paused")
        attempt.control.resume()
        _ = try await attempt.response()
        let received = try await context.body(at: attempt.url)
        try attempt.expect(received == body.bytes, "the received bytes differ from the sent bytes")
    }

    private static func cancelsWhilePaused(_ context: ConformanceContext) async throws(TestingError) {
        let transport = context.makeTransport()
        let attempt = try await context.start(ProbeBody(.inTwo(2_000, first: 1_000)), .silent, on: transport)
        try await attempt.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        attempt.control.pause()
        try await context.runUnrelatedAttempt(on: transport)
        _ = try await attempt.cancel()
    }
}
