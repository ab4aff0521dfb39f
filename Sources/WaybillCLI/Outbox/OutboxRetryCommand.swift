import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox retry`: sends again from the start.
struct OutboxRetryCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Has items sent from the start that failed, wait or are paused.",
        discussion: """
            Items that may have arrived are left alone, for the server might have them twice then. Look there first, or \
            try "waybill outbox verify"; --doubtful sends them again all the same.

            EXAMPLES:
              waybill outbox retry --failed
              waybill outbox retry 17 --doubtful

            \(OutboxControlOptions.status)
            """)

    @OptionGroup var options: OutboxControlOptions

    @Flag(name: .customLong("doubtful"), help: "Those that may have arrived, too: they may arrive twice.")
    var takesDoubtful = false

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            let selection = try options.items.required(by: "retry")
            let outbox = try await options.place.place().openExisting()
            try await options.items.checkIDs(in: outbox)
            var (changed, leftOut) = (0, 0)
            for page in selection.pages {
                let counts = try await asking { () async throws(OutboxError) in
                    takesDoubtful
                        ? (changed: try await outbox.retry(page), leftOut: 0) : try await Self.retry(page, outbox)
                }
                (changed, leftOut) = (changed + counts.changed, leftOut + counts.leftOut)
            }
            await outbox.close()
            try options.tell(changed, "to be sent again", [JSONMember("leftOut", .int(Int64(leftOut)))])
            if leftOut > 0 {
                Console.standard.line(
                    "left out, for they may have arrived: \(leftOut). waybill outbox verify asks, --doubtful sends them again"
                )
            }
            return .done
        }
    }

    /// Retries what surely has not arrived.
    private static func retry(
        _ selection: ItemSelection, _ outbox: Outbox
    ) async throws(OutboxError) -> (changed: Int, leftOut: Int) {
        var (changed, leftOut) = (0, 0)
        var sure: [OutboxID] = []
        var items = outbox.items(selection).makeAsyncIterator()
        while let item = try await items.next() {
            guard [.failed, .paused, .waiting, .verify].contains(item.state) else { continue }
            if item.isDoubtful { leftOut += 1 } else { sure.append(item.id) }
            guard sure.count == together else { continue }
            changed += try await outbox.retry(ItemSelection(ids: sure))
            sure = []
        }
        if !sure.isEmpty { changed += try await outbox.retry(ItemSelection(ids: sure)) }
        return (changed, leftOut)
    }

    private static let together = 500
}
