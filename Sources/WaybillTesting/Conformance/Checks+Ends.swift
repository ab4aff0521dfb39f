import HTTPTypes
import WaybillCore

// Checks of the end of attempts.

extension TransportConformance {
    static let endChecks = [
        Check("an attempt ends exactly once, and no event follows", endsOnce),
        Check("events are reported in order", ordersEvents),
        Check("an attempt with a refused connection is not sent", refused),
        Check("attempts continue after their transport is released", released),
    ]

    private static func endsOnce(_ context: ConformanceContext) async throws(TestingError) {
        for scenario in Scenario.all {
            let transport = context.makeTransport()
            let attempt = try await scenario.run(on: transport, context)
            _ = try await attempt.end()
            try await context.runUnrelatedAttempt(on: transport)
            try attempt.expect(attempt.log.endCount == 1, "\(scenario.name): it ended \(attempt.log.endCount) times")
            guard case .ended? = attempt.log.events.last else {
                throw attempt.violation("\(scenario.name): the end is not the last event")
            }
        }
    }

    private static func ordersEvents(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.inPieces(200_000, of: 50_000)), .respond(201))
        let response = try await attempt.response()
        let names = attempt.log.eventsToEnd.map { EventLog.describe($0).prefix { $0.isLetter } }
        try attempt.expect(names.first == "connected", "the first event is not connected")
        for name in ["connected", "bodyAcknowledged", "responseHead"] {
            let count = names.count { $0 == name }
            try attempt.expect(count == 1, "\(name) was reported \(count) times instead of once")
        }
        for case .responseHead(let head) in attempt.log.eventsToEnd {
            try attempt.expect(head.status == response.head.status, "the head and the response differ in status")
        }
        // The response head may be read before the acknowledgement of the last byte is noticed. Progress may not follow
        // it: after the last byte, the counts do not change.
        let rest = names.drop { $0 != "bodyAcknowledged" }
        try attempt.expect(!rest.contains("progress"), "progress was reported after bodyAcknowledged")
    }

    private static func refused(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.whole(1_000)), .refuse)
        let error = try await attempt.failure()
        try attempt.expect(error.outcome == .notSent, "the outcome is \(error.outcome), not notSent")
        try attempt.expect(attempt.log.eventsToEnd.count == 1, "an event other than the end was reported")
    }

    private static func released(_ context: ConformanceContext) async throws(TestingError) {
        let body = ProbeBody(.inTwo(2_000, first: 1_000))
        // Only the call itself holds a reference to the transport.
        let attempt = try await context.start(body, .respond(200), on: context.makeTransport())
        try await attempt.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        body.resume()
        _ = try await attempt.response()
    }
}

/// A possible course of an attempt.
struct Scenario: Sendable {
    let name: String
    let behaviour: ConformanceBehaviour
    let plan: ProbeBody.Plan
    var isCancelled = false

    static let all = [
        Scenario(name: "successful response", behaviour: .respond(200), plan: .inPieces(20_000, of: 10_000)),
        Scenario(name: "error response", behaviour: .respond(503), plan: .whole(1_000)),
        Scenario(name: "refused", behaviour: .refuse, plan: .whole(1_000)),
        Scenario(
            name: "connection closed during the request body", behaviour: .closeDuringBody(after: 1_000),
            plan: .whole(large)),
        Scenario(
            name: "connection closed during the response head", behaviour: .truncateResponseHead, plan: .whole(1_000)),
        Scenario(name: "connection closed during the response body", behaviour: .truncateResponse, plan: .whole(1_000)),
        Scenario(name: "cancelled", behaviour: .silent, plan: .inTwo(2_000, first: 1_000), isCancelled: true),
        Scenario(name: "failing body", behaviour: .silent, plan: .failing(2_000, after: 1_000)),
        Scenario(name: "unreadable body", behaviour: .silent, plan: .unreadable(1_000)),
    ]

    /// More bytes than the buffers between two processes hold.
    static let large = 32 << 20

    func run(
        on transport: any UploadTransport, _ context: ConformanceContext
    ) async throws(TestingError) -> ConformanceAttempt {
        let attempt = try await context.start(ProbeBody(plan), behaviour, on: transport)
        guard isCancelled else { return attempt }
        try await attempt.wait(for: "the body was not read to its pause") { $0.laterCount > 0 }
        attempt.control.cancel()
        return attempt
    }
}
