import Foundation
import LittleBackend

/// Shows priorities and duplicates: in a session, and in an outbox.
@main
struct Command {
    static func main() async throws {
        print("In a session: one slot, and four uploads are queued while the first is in progress")
        try await SessionPriorities(report: { print("   \($0)") }).run()
        print("\nIn an outbox: enqueued by one program, delivered later by another")
        let directory = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await OutboxPriorities(directory: directory, report: { print("   \($0)") }).run()
    }
}

/// The fields of a short form whose `BUSINESSNO` is a name.
enum Note {
    static let token = "t0k3n"

    /// Returns the names in the order in which the backend stored them.
    static func order(_ snapshot: BackendSnapshot) -> [String] { snapshot.effects.map(\.business) }
}
