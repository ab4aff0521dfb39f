import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox purge`: removes ended items and returns unused space to the file system.
struct OutboxPurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Removes ended items, and returns unused space to the file system.",
        discussion: """
            "waybill outbox run" removes items thirty days after their end. This command removes them earlier, with their \
            results, acknowledged or not.

            EXAMPLES:
              waybill outbox purge
              waybill outbox purge --older-than 7d
              waybill outbox purge --older-than 0

            \(OutboxControlOptions.status)
            """)

    @Option(
        name: .customLong("older-than"),
        help: ArgumentHelp("The time since the end of an item; 0 for all ended items. Default: 30d.", valueName: "time")
    )
    var age = "30d"

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let age: Duration = age == "0" ? .zero : try DurationArgument.read(age, for: "--older-than")
            let outbox = try await location.resolved().openExisting()
            let purge = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.purge(olderThan: age)
            }
            await outbox.close()
            if json {
                try JSONOutput(.standard).write(
                    "summary",
                    ["result": "succeeded", "exit": Exit.done, "removed": purge.items, "bytes": purge.bytes])
            } else {
                try StandardOutput.write(
                    "\(Figures.count(purge.items, "item")) removed, \(ByteCount(bytes: purge.bytes)) returned to the "
                        + "file system\n")
            }
            return .done
        }
    }
}
