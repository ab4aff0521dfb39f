import Foundation
import LittleBackend

/// Who goes first, and what is the same: once among the uploads of a program, once in a queue on the disk.
@main
struct Command {
    static func main() async throws {
        print("In the program: one slot, and all of these are asked for while the first is under way")
        try await InTheProgram(report: { print("   \($0)") }).run()
        print("\nOn the disk: handed over by one program, delivered by another one later")
        let folder = FileManager.default.temporaryDirectory.appending(path: "queue-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await OnTheDisk(folder: folder, report: { print("   \($0)") }).run()
    }
}

/// A short form that carries a name, so that the backend can say in which order names came.
enum Note {
    static let token = "t0k3n"

    /// The names in the order in which they were booked.
    static func order(_ books: Books) -> [String] { books.effects.map(\.business) }
}
