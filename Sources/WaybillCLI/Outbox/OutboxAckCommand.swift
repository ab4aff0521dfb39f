import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox ack`: reports items that ended since the last call.
struct OutboxAckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ack",
        abstract: "Prints the items that ended since the last call, and acknowledges them.",
        discussion: """
            Each item is printed at least once: it is acknowledged only after it was written completely. A script that \
            was killed meanwhile receives the same items again. With --keep, items are printed but not acknowledged.

            Ended items are kept for thirty days, acknowledged or not.

            EXAMPLES:
              waybill outbox ack
              waybill outbox ack --json >> results.jsonl
              waybill outbox ack --through 1200 --silent

            EXIT STATUS:
            \(Exit.table)
            If several apply, the first of 7, 6, 1, 5, 4, 3 is used.
            """)

    @Option(
        name: .customLong("through"),
        help: ArgumentHelp("Stop after this sequence number.", valueName: "number"))
    var through: Int64?

    @Flag(name: .customLong("keep"), help: "Print items without acknowledging them.")
    var keeps = false

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "Print one JSON object per line with the response; the summary is last.")
    var json = false

    @Flag(
        name: [.customShort("q"), .customShort("s"), .customLong("silent")],
        help: "Print nothing; only acknowledge.")
    var silent = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let outbox = try await location.resolved().openExisting()
            let output = json ? JSONOutput(.standard) : nil
            var summary = OutboxSummary()
            var seen = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.acknowledgedThrough()
            }
            while true {
                let from = seen
                let page = try await mappingOutboxErrors { () async throws(OutboxError) in
                    try await outbox.results(after: from)
                }
                let wanted = page.filter { $0.sequence <= through ?? .max }
                for result in wanted {
                    try report(result, output)
                    summary.add(result.item)
                }
                guard let last = wanted.last?.sequence else { break }
                seen = last
                // Acknowledge only after the items were written.
                if !keeps {
                    try await mappingOutboxErrors { () async throws(OutboxError) in
                        try await outbox.acknowledge(through: last)
                    }
                }
            }
            await outbox.close()
            try output?.write("summary", Self.members(summary, through: seen))
            return summary.worst
        }
    }

    private func report(_ result: OutboxResult, _ output: JSONOutput?) throws(CommandFailure) {
        if let output {
            try output.write("item", JSONObject(result), response: .response(of: result))
        } else if !silent {
            try StandardOutput.write(Redaction.escaped(OutboxText.line(result)) + "\n")
        }
    }

    private static func members(_ summary: OutboxSummary, through sequence: Int64) -> JSONObject {
        [
            "result": "succeeded", "exit": summary.worst,
            "through": sequence, "delivered": summary.delivered,
            "failed": summary.failed, "doubtful": summary.doubtful,
            "cancelled": summary.cancelled,
        ]
    }
}
