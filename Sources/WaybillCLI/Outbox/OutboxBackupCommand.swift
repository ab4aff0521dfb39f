import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox backup`: copies an outbox that may be in use.
struct OutboxBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the outbox into a new directory, also while it is in use.",
        discussion: """
            The copy has all items and their stored files at one moment, and is an outbox itself. Its unfinished items \
            are paused, because the original may deliver them: "waybill outbox resume" checks them with their servers \
            before it sends them, and "waybill outbox retry --doubtful" sends them. Files outside the outbox are not \
            copied.

            EXAMPLES:
              waybill outbox backup /backup/outbox-2026-11-27
              waybill outbox ls --outbox /backup/outbox-2026-11-27

            EXIT STATUS:
                0  the copy is complete and on the disk
                2  invalid usage, or there is no outbox
                7  the copy can't be made
               75  another process uses the outbox and does not respond
            """)

    @Argument(
        help: ArgumentHelp("The directory of the copy, which must not exist.", valueName: "directory"),
        completion: .directory)
    var directory: String

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            guard !directory.isEmpty else { throw .usage("The directory of the copy must not be empty.") }
            let (outbox, path) = (try await location.resolved().openExisting(), directory)
            let backup = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.backUp(to: path)
            }
            await outbox.close()
            if json {
                try JSONOutput(.standard).write(
                    "summary",
                    [
                        "result": "succeeded", "exit": Exit.done, "directory": path, "items": backup.items,
                        "paused": backup.paused, "files": backup.files,
                    ])
            } else {
                let counts = "\(Figures.count(backup.items, "item")) and \(Figures.count(backup.files, "file"))"
                try StandardOutput.write("\(counts) copied; \(backup.paused) paused in the copy\n")
            }
            return .done
        }
    }
}
