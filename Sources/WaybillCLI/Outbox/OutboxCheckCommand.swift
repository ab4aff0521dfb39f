import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox check`: checks the integrity of an outbox.
struct OutboxCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks an outbox: its queue, lanes and disk.",
        discussion: """
            Checks the integrity of the queue file if no other process uses the outbox, or that of the database. Of \
            an outbox in PostgreSQL, it also checks what is late, which sessions and dead rows delay leases, and whether \
            commits survive a failure of the server.

            EXAMPLES:
              waybill outbox check
              waybill outbox check --json

            EXIT STATUS:
                0  all checks passed
                2  invalid usage, or there is no outbox
                7  a check failed; its line says what to do
               75  another process uses the outbox and does not respond
            """)

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "Print one JSON object per line.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let location = try location.resolved()
            let outbox = try await location.openExisting()
            var checks = try await Self.checks(outbox, isShared: location.isShared)
            if location.isShared { checks += try await location.serverChecks() }
            await outbox.close()
            return try Check.report(checks, failure: .fatal, isJSON: json)
        }
    }

    private static func checks(_ outbox: Outbox, isShared: Bool) async throws(CommandFailure) -> [Check] {
        var checks = [Check(note: isShared ? "database" : "directory", outbox.path)]
        if outbox.isOwner {
            let found = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.checkIntegrity()
            }
            checks.append(
                Check(
                    "queue", found == "ok",
                    found == "ok" ? "intact" : "damaged: \(found). Back it up, and queue missing uploads again."))
        } else {
            checks.append(Check(note: "queue", "not checked: another process uses it"))
        }
        if !isShared {
            checks.append(Checks.checkTemporaryDirectory(outbox.path))
            checks[checks.count - 1].name = "disk"
        }
        let (tally, lanes) = try await mappingOutboxErrors { () async throws(OutboxError) in
            (try await outbox.tally(), try await outbox.blockedLanes())
        }
        let counts = OutboxState.allCases.filter { tally[$0] > 0 }.map { "\(tally[$0]) \($0.rawValue)" }
        checks.append(Check(note: "items", counts.isEmpty ? "none" : counts.joined(separator: ", ")))
        for (lane, reason) in lanes.sorted(by: { $0.key < $1.key }) {
            checks.append(
                Check(
                    "lane", false,
                    "\(lane) is blocked: \(reason). Fix the cause, then run waybill outbox resume --lane '\(lane)'."))
        }
        if lanes.isEmpty { checks.append(Check("lanes", true, "none blocked")) }
        return checks
    }
}
