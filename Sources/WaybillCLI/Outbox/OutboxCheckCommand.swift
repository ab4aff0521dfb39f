import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox check`: checks the integrity of an outbox.
struct OutboxCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Looks whether all is well with an outbox: its queue, its lanes, its disk.",
        discussion: """
            The queue file is looked through for damage if no other process has it.

            EXAMPLES:
              waybill outbox check
              waybill outbox check --json

            EXIT STATUS:
                0  all is well
                2  the command was called wrongly, or there is no outbox
                7  a check failed; its line says what to do
               75  another process has the outbox and does not answer
            """)

    @OptionGroup(title: "Outbox") var place: OutboxPlaceOptions
    @Flag(name: .customLong("json"), help: "One JSON object a line.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let outbox = try await place.place().openExisting()
            let checks = try await Self.checks(outbox)
            await outbox.close()
            return try Check.report(checks, failure: .fatal, isJSON: json)
        }
    }

    private static func checks(_ outbox: Outbox) async throws(CommandFailure) -> [Check] {
        var checks = [Check(note: "folder", outbox.path)]
        if outbox.isOwner {
            let found = try await asking { () async throws(OutboxError) in try await outbox.checkIntegrity() }
            checks.append(
                Check(
                    "queue", found == "ok",
                    found == "ok"
                        ? "no damage" : "damaged: \(found). Keep a copy of the folder, and queue anew what is missing"))
        } else {
            checks.append(Check(note: "queue", "another process has it, so it was not looked through"))
        }
        checks.append(Checks.checkTemporaryDirectory(outbox.path))
        checks[checks.count - 1].name = "disk"
        let (tally, lanes) = try await asking { () async throws(OutboxError) in
            (try await outbox.tally(), try await outbox.blockedLanes())
        }
        let counts = OutboxState.allCases.filter { tally[$0] > 0 }.map { "\(tally[$0]) \($0.rawValue)" }
        checks.append(Check(note: "items", counts.isEmpty ? "none" : counts.joined(separator: ", ")))
        for (lane, reason) in lanes.sorted(by: { $0.key < $1.key }) {
            checks.append(
                Check(
                    "lane", false,
                    "\(lane) is blocked: \(reason). See to it, then: waybill outbox resume --lane '\(lane)'"))
        }
        if lanes.isEmpty { checks.append(Check("lanes", true, "none is blocked")) }
        return checks
    }
}
