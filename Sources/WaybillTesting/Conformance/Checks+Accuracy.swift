import HTTPTypes
import WaybillCore

// Checks of the accuracy of reports.

extension TransportConformance {
    static let accuracyChecks = [
        Check("progress never decreases and never exceeds the body", reportsMonotonicProgress),
        Check("an early rejection is the response of the attempt", acceptsEarlyRejection),
        Check("an early 200 is not a success", rejectsEarlySuccess),
        Check("a truncated response is not a success", rejectsTruncatedResponses),
        Check("a connection closed during the body leaves the upload incomplete", leavesIncomplete),
        Check("no outcome is more certain than its evidence", matchesEvidence),
    ]

    private static func reportsMonotonicProgress(_ context: ConformanceContext) async throws(TestingError) {
        let count = 200_000
        let attempt = try await context.start(ProbeBody(.inPieces(count, of: 20_000)), .respond(200))
        _ = try await attempt.response()
        let evidence = try await attempt.end().evidence
        var last = TransferProgress(sent: 0, acknowledged: 0, accuracy: .exact)
        for progress in attempt.log.progress {
            try attempt.expect(
                progress.sent >= last.sent && progress.acknowledged >= last.acknowledged, "the progress decreased")
            try attempt.expect(
                progress.acknowledged <= progress.sent && progress.sent <= count,
                "the progress exceeds the sent bytes or the length of the body")
            last = progress
        }
        try attempt.expect(last.acknowledged == count, "the last progress of a success does not cover the whole body")
        try attempt.expect(
            evidence.sent == count && evidence.acknowledged == count && evidence.isBodyComplete,
            "the evidence of a success does not cover the whole body")
        try attempt.expect(evidence.announced == Int64(count), "the length announced is not that of the body")
    }

    private static func acceptsEarlyRejection(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.whole(Scenario.large)), .respondEarly(413))
        let response = try await attempt.response()
        try attempt.expect(response.head.status.code == 413, "the status is \(response.head.status.code), not 413")
        let evidence = try await attempt.end().evidence
        try attempt.expect(evidence.sawResponseHead, "the evidence contains no response head")
        try attempt.expect(
            !evidence.isBodyComplete && evidence.sent < Scenario.large, "the whole body is reported as sent")
    }

    private static func rejectsEarlySuccess(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.whole(Scenario.large)), .respondEarly(200)) { options in
            // Stops a transport that continues to send after the response.
            options.limits.stall = .milliseconds(500)
        }
        let error = try await attempt.failure()
        try attempt.expect(error.outcome != .notSent, "the outcome is notSent although a response was received")
    }

    private static func rejectsTruncatedResponses(_ context: ConformanceContext) async throws(TestingError) {
        for behaviour: ConformanceBehaviour in [.truncateResponseHead, .truncateResponse] {
            let attempt = try await context.start(ProbeBody(.whole(1_000)), behaviour)
            let error = try await attempt.failure()
            try attempt.expect(error.outcome == .unknown, "\(behaviour): the outcome is \(error.outcome), not unknown")
        }
    }

    private static func leavesIncomplete(_ context: ConformanceContext) async throws(TestingError) {
        let attempt = try await context.start(ProbeBody(.whole(Scenario.large)), .closeDuringBody(after: 1_000))
        let error = try await attempt.failure()
        guard case .incomplete(let acknowledged) = error.outcome else {
            throw attempt.violation("the outcome is \(error.outcome), not incomplete")
        }
        try attempt.expect(
            (1_000..<Int64(Scenario.large)).contains(acknowledged), "\(acknowledged) bytes are reported as acknowledged"
        )
    }

    private static func matchesEvidence(_ context: ConformanceContext) async throws(TestingError) {
        for scenario in Scenario.all {
            let attempt = try await scenario.run(on: context.makeTransport(), context)
            let end = try await attempt.end()
            let evidence = end.evidence
            try attempt.expect(
                evidence.acknowledged <= evidence.sent && evidence.sent <= evidence.announced ?? .max,
                "\(scenario.name): the evidence contradicts itself")
            let reported = attempt.log.progress.last
            try attempt.expect(
                (reported?.sent ?? 0) <= evidence.sent && (reported?.acknowledged ?? 0) <= evidence.acknowledged,
                "\(scenario.name): the evidence is less than the progress that was reported")
            guard case .failure(let error) = end.result else { continue }
            try attempt.expect(
                isCovered(error.outcome, by: end),
                "\(scenario.name): the outcome \(error.outcome) is more certain than the evidence")
        }
    }

    /// Whether the observed events permit the outcome. A less certain outcome is always permitted.
    private static func isCovered(_ outcome: UploadOutcome, by end: TransferEnd) -> Bool {
        let evidence = end.evidence
        return switch outcome {
        case .notSent:
            !evidence.requestAcknowledged
                && (!evidence.isBodyComplete || evidence.isConnectionReused && evidence.sent > 0)
        case .incomplete(let acknowledged): !evidence.isBodyComplete && acknowledged <= evidence.acknowledged
        case .rejected: evidence.sawResponseHead
        case .unknown: true
        // A single attempt can't observe it.
        case .processed: false
        }
    }
}
