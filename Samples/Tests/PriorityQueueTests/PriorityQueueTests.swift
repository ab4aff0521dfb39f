import Foundation
import Testing
import WaybillOutbox

@testable import PriorityQueue

@Suite(.timeLimit(.minutes(2))) struct PriorityQueueTests {
    @Test func `the urgent goes first in a session, and what is asked for twice goes once`() async throws {
        let outcome = try await InTheProgram(report: { _ in }).run()
        #expect(outcome.order == ["first", "alarm", "report", "letter"])
        #expect(outcome.isJoined)
        #expect(outcome.answers.count == 2 && Set(outcome.answers).count == 1)
    }

    @Test func `the urgent goes first from the disk, and keys keep, replace and append`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let outcome = try await OnTheDisk(folder: folder, report: { _ in }).run()
        #expect(outcome.order == ["alarm", "letter", "address of June", "page 1", "page 2", "report"])
        #expect(!outcome.isLetterNew)
        #expect(outcome.states["address of May"] == .cancelled)
        #expect(outcome.states.count == 7)
        #expect(outcome.states.filter { $0.value == .done }.count == 6)
    }
}
