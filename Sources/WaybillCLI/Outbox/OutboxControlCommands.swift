import ArgumentParser
import Waybill
import WaybillOutbox

/// Options of the commands that control items.
struct OutboxControlOptions: ParsableArguments {
    @OptionGroup(title: "Items") var items: OutboxSelectionOptions
    @OptionGroup(title: "Outbox") var place: OutboxPlaceOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    /// Prints the number of changed items.
    func report(_ count: Int, _ done: String, _ more: JSONObject = [:]) throws(CommandFailure) {
        if json {
            try JSONOutput(.standard).write(
                "summary", ["result": "succeeded", "exit": Exit.done, "changed": count] + more)
        } else {
            try StandardOutput.write("\(Figures.count(count, "item")) \(done)\n")
        }
    }

    static let status = """
        EXIT STATUS:
            0  done, also if nothing had to be
            2  the command was called wrongly, or there is no such item
            7  the outbox can't be used
           75  another process has the outbox and does not answer
        """
}

/// A command that changes the state of items.
protocol OutboxControlCommand: AsyncParsableCommand, TakesManyArguments {
    var options: OutboxControlOptions { get set }
}

extension OutboxControlCommand {
    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    /// Runs an operation on the selected items and prints their number.
    func control(
        _ verb: String, _ done: String, _ change: (Outbox, ItemSelection) async throws(OutboxError) -> Int
    ) async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            try options.report(try await forEachPage(verb, change).reduce(0, +), done)
            return .done
        }
    }

    /// Opens the outbox and runs an operation on the selected items, page by page.
    func forEachPage<Value>(
        _ verb: String, _ change: (Outbox, ItemSelection) async throws(OutboxError) -> Value
    ) async throws(CommandFailure) -> [Value] {
        let selection = try options.items.required(by: verb)
        let outbox = try await options.place.place().openExisting()
        try await options.items.checkIDs(in: outbox)
        var values: [Value] = []
        for page in selection.pages {
            values.append(try await asking { () async throws(OutboxError) in try await change(outbox, page) })
        }
        await outbox.close()
        return values
    }
}

/// `waybill outbox pause`.
struct OutboxPauseCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses items; what is being sent is stopped.",
        discussion: """
            EXAMPLES:
              waybill outbox pause 17
              waybill outbox pause --batch today

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    func run() async throws {
        try await control("pause", "paused") { outbox, items async throws(OutboxError) in
            try await outbox.pause(items)
        }
    }
}

/// `waybill outbox resume`.
struct OutboxResumeCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Lets paused items go on, and lanes that were blocked.",
        discussion: """
            The server is asked once more about a paused item that may have arrived. With --lane or --all, lanes \
            that were blocked by a credential or a certificate get a new chance, too.

            EXAMPLES:
              waybill outbox resume --all
              waybill outbox resume --lane 'backend.example:443 as backend'

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    func run() async throws {
        let (lane, isAll) = (options.items.lane, options.items.isAll)
        try await control("resume", "resumed") { outbox, items async throws(OutboxError) in
            for name in try await outbox.blockedLanes().keys where isAll || name == lane {
                try await outbox.unblock(lane: name)
            }
            return try await outbox.resume(items)
        }
    }
}

/// `waybill outbox cancel`.
struct OutboxCancelCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Calls items off, for good.",
        discussion: """
            EXAMPLES:
              waybill outbox cancel 17 18
              waybill outbox cancel --tag draft

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    func run() async throws {
        try await control("cancel", "cancelled") { outbox, items async throws(OutboxError) in
            try await outbox.cancel(items)
        }
    }
}

/// `waybill outbox verify`.
struct OutboxVerifyCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Has servers asked once more about items in doubt.",
        discussion: """
            "waybill outbox run" asks the server about items that are paused or failed because they may have arrived. \
            Without a server that can be asked, they end as --on-unknown says.

            EXAMPLES:
              waybill outbox verify 17
              waybill outbox verify --all

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    func run() async throws {
        try await control("verify", "to be asked about") { outbox, items async throws(OutboxError) in
            try await outbox.verify(items)
        }
    }
}

/// `waybill outbox retry`: sends again from the start.
struct OutboxRetryCommand: OutboxControlCommand {
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

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            let counts = try await forEachPage("retry") { outbox, items async throws(OutboxError) in
                takesDoubtful
                    ? (changed: try await outbox.retry(items), leftOut: 0) : try await Self.retry(items, outbox)
            }
            let leftOut = counts.reduce(0) { $0 + $1.leftOut }
            try options.report(counts.reduce(0) { $0 + $1.changed }, "to be sent again", ["leftOut": leftOut])
            if leftOut > 0 {
                Console.standard.line(
                    "left out, for they may have arrived: \(leftOut). waybill outbox verify asks, --doubtful sends them again"
                )
            }
            return .done
        }
    }

    /// Retries the items that certainly have not arrived.
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
