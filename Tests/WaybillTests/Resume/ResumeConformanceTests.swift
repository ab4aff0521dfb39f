import TestSupport
import Testing
import WaybillCore

@testable import Waybill

/// Uploads to a strict server with faults. The application must receive the body at most once, and whole.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumeConformanceTests {
    @Test(arguments: ResumeCases.table.flatMap { row in row.dialects.map { (row, $0) } })
    func `a case of the conformance list`(_ row: ResumeCase, _ dialect: ResumableServer.Dialect) async throws {
        let fixture = try ResumeFixture(row, dialect)
        let result = await fixture.upload()
        // The upload does not wait for the response to a removal.
        try await fixture.server.waitUntil { $0.requests(.delete).count >= row.removals }
        let state = try await fixture.server.settled()
        #expect(state.requests(.delete).count == row.removals)
        #expect(fixture.server.violations.isEmpty)
        switch (result, row.expected) {
        case (.success(let response), .delivered):
            #expect(response.status.kind == .successful)
            #expect(state.applicationRuns.map { $0.bytes == fixture.body } == [true])
        case (.failure(let error), .failed(let code, let outcome, let runs)):
            #expect(error.code == code, "\(error)")
            #expect(ResumeCase.Outcome(error.outcome) == outcome, "\(error)")
            #expect(state.applicationRuns.count == runs)
        default: Issue.record("\(result)")
        }
        row.check(state, result)
    }
}
