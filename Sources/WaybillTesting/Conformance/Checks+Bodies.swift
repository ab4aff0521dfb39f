import HTTPTypes
import WaybillCore

// Checks of the request body.

extension TransportConformance {
    static let bodyChecks = [
        Check("a body of known length arrives byte for byte", deliversKnown),
        Check("a body of unknown length arrives byte for byte", deliversUnknown),
        Check("a body without available bytes is read again after it wakes the transport", wakes),
        Check("a body's reader is closed once, before the end is reported", closesOnce),
        Check("a body is not read after its end", stopsAtEnd),
        Check("a body that fails ends the attempt with its error as the cause", failsWithBody),
    ]

    private static func deliversKnown(_ context: ConformanceContext) async throws(TestingError) {
        for count in [0, 1, 200_000] { try await deliver(ProbeBody(.whole(count)), context) }
    }

    private static func deliversUnknown(_ context: ConformanceContext) async throws(TestingError) {
        for count in [0, 1, 200_000] { try await deliver(ProbeBody(.whole(count), announcesLength: false), context) }
    }

    private static func deliver(_ body: ProbeBody, _ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(body, .respond(200, text: "taken"))
        let response = try await attempt.response()
        try attempt.expect(response.head.status.code == 200, "the status is \(response.head.status.code), not 200")
        try attempt.expect(response.body == Array("taken".utf8), "the response body differs from what the server sent")
        let received = try await context.body(at: attempt.url)
        try attempt.expect(received.count == body.count, "\(received.count) of \(body.count) bytes arrived")
        let difference = received.indices.first { received[$0] != ProbeBody.byte(at: $0) }
        try attempt.expect(difference == nil, "byte \(difference ?? 0) differs from what was sent")
    }

    private static func wakes(_ context: ConformanceContext) async throws(TestingError) {
        let body = ProbeBody(.inTwo(2_000, first: 1_000))
        let attempt = try await context.start(body, .respond(200))
        try await attempt.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        body.resume()
        _ = try await attempt.response()
        let received = try await context.body(at: attempt.url)
        try attempt.expect(received == body.bytes, "the received bytes differ from the sent bytes")
        try await deliver(ProbeBody(.inPieces(50_000, of: 1_000)), context)
        try await deliver(ProbeBody(.inPieces(50_000, of: 1_000), announcesLength: false), context)
    }

    private static func closesOnce(_ context: ConformanceContext) async throws(TestingError) {
        for scenario in Scenario.all {
            let transport = context.makeTransport()
            let attempt = try await scenario.run(on: transport, context)
            _ = try await attempt.end()
            try await context.runUnrelatedAttempt(on: transport)
            guard let atEnd = attempt.log.state.value.bodyAtEnd, let now = attempt.body?.state.value else { continue }
            try attempt.expect(now.readerCount <= 1, "\(scenario.name): one attempt created \(now.readerCount) readers")
            try attempt.expect(
                atEnd.closeCount == atEnd.readerCount,
                "\(scenario.name): when the end was reported, \(atEnd.readerCount) readers had been created and "
                    + "\(atEnd.closeCount) closed"
            )
            try attempt.expect(now.closeCount == now.readerCount, "\(scenario.name): closed \(now.closeCount) times")
        }
    }

    private static func stopsAtEnd(_ context: ConformanceContext) async throws(TestingError) {
        let bodies = [
            ProbeBody(.whole(1_000)), ProbeBody(.whole(1_000), announcesLength: false),
            ProbeBody(.failing(2_000, after: 500)),
        ]
        for body in bodies {
            let attempt = try await context.start(body, .respond(200))
            _ = try await attempt.end()
            try attempt.expect(!body.state.value.wasReadAfterEnd, "the reader was read after it had ended or failed")
        }
    }

    private static func failsWithBody(_ context: ConformanceContext) async throws(TestingError) {
        let plans: [ProbeBody.Plan] = [.failing(2_000, after: 1_000), .failing(2_000, after: 0), .unreadable(2_000)]
        for plan in plans {
            let attempt = try await context.start(ProbeBody(plan), .silent)
            let error = try await attempt.failure()
            try attempt.expect(error.code == .bodyFailed, "the code is \(error.code), not bodyFailed")
            try attempt.expect(error.cause is ProbeBody.Failure, "the cause is not the error that the body threw")
            let isComplete = try await attempt.end().evidence.isBodyComplete
            try attempt.expect(!isComplete, "the body is reported as complete")
        }
    }
}
