import Foundation
import LittleBackend

/// Shows priorities and duplicates: in a session, and in an outbox.
@main
struct Command {
    static func main() async throws {
        print("In the program: one slot, and all of these are asked for while the first is under way")
        try await InTheProgram(report: { print("   \($0)") }).run()
        print("\nOn the disk: handed over by one program, delivered by another one later")
        let directory = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await OnTheDisk(directory: directory, report: { print("   \($0)") }).run()
    }
}

/// The fields of a short form whose `BUSINESSNO` is a name.
enum Note {
    static let token = "t0k3n"

    /// Returns the names in the order in which the backend stored them.
    static func order(_ snapshot: BackendSnapshot) -> [String] { snapshot.effects.map(\.business) }
}
