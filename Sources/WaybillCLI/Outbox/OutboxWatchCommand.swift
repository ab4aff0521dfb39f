import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox watch`: shows the progress of deliveries by another process.
struct OutboxWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Shows the progress of deliveries until all items have ended.",
        discussion: """
            Delivers nothing: it shows the progress of "waybill outbox run". It ends when all items have ended, or \
            with --batch those of the batch; it also waits for paused items. A signal ends only the display.

            EXAMPLES:
              waybill outbox watch
              waybill outbox watch --batch today --json

            EXIT STATUS:
            \(Exit.table)
            """)

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions

    @Option(name: .customLong("batch"), help: ArgumentHelp("Watch this batch only.", valueName: "name"))
    var batch: String?

    @OptionGroup(title: "Output") var output: OutboxOutputOptions

    func run() async throws {
        let console = Console.standard
        let json = output.json ? JSONOutput(console) : nil
        try await finishing(output.json) { () async throws(CommandFailure) in
            Interrupt.arm()
            let outbox = try await location.resolved().openExisting()
            let reporter = try await OutboxReporter(
                outbox, batch: batch, console: console, json: json, output: output)
            let name = batch
            let count = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.tally(batch: name).total
            }
            if let batch, count == 0 {
                throw .usage(
                    "There is no batch \(Redaction.quoted(batch)) in the outbox. "
                        + "List all items with waybill outbox ls --all."
                )
            }
            let watching = Task { await reporter.follow(untilFinished: true) }
            Interrupt.onFirst { _ in watching.cancel() }
            await watching.value
            reporter.endBar()
            try await reporter.catchUp()
            let end = try await mappingOutboxErrors { () async throws(OutboxError) in
                OutboxEnd(tally: try await outbox.tally(batch: name), blockedLanes: try await outbox.blockedLanes())
            }
            await outbox.close()
            return finish(reporter.summary(end), console, json)
        }
    }

    private func finish(_ summary: OutboxSummary, _ console: Console, _ json: JSONOutput?) -> Exit {
        var exit = summary.exit
        if let json {
            exit = console.deliver(exit) { () throws(CommandFailure) in try json.write("summary", summary.members) }
        } else if !output.silent {
            console.line(summary.line)
        }
        return exit
    }
}
