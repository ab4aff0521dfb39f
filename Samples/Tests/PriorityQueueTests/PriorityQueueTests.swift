import Foundation
import Testing
import WaybillOutbox

@testable import PriorityQueue

@Suite(.timeLimit(.minutes(2))) struct PriorityQueueTests {
    @Test func `a session sends higher priorities first and joins duplicates`() async throws {
        let outcome = try await SessionPriorities(report: { _ in }).run()
        #expect(outcome.order == ["first", "alarm", "report", "letter"])
        #expect(outcome.isJoined)
        #expect(outcome.responses.count == 2 && Set(outcome.responses).count == 1)
    }

    @Test func `an outbox delivers higher priorities first and applies each duplicate policy`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let outcome = try await OutboxPriorities(directory: directory, report: { _ in }).run()
        #expect(outcome.order == ["alarm", "letter", "address of June", "page 1", "page 2", "report"])
        #expect(!outcome.isLetterNew)
        #expect(outcome.states["address of May"] == .cancelled)
        #expect(outcome.states.count == 7)
        #expect(outcome.states.filter { $0.value == .done }.count == 6)
    }
}
