import ArgumentParser
import Waybill
import WaybillOutbox

/// Options of the commands that control items.
struct OutboxControlOptions: ParsableArguments {
    @OptionGroup(title: "Items") var items: OutboxSelectionOptions
    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
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
            0  done, even if nothing had to be changed
            2  invalid usage, or there is no such item
            7  the outbox can't be used
           75  another process uses the outbox and does not respond
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
        let outbox = try await options.location.resolved().openExisting()
        try await options.items.checkIDs(in: outbox)
        var values: [Value] = []
        for page in selection.pages {
            values.append(
                try await mappingOutboxErrors { () async throws(OutboxError) in try await change(outbox, page) })
        }
        await outbox.close()
        return values
    }
}

/// `waybill outbox pause`.
struct OutboxPauseCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses items, and stops running uploads of them.",
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
        commandName: "resume", abstract: "Resumes paused items and blocked lanes.",
        discussion: """
            The outcome of a paused item that may have arrived is checked with the server again. With --lane or --all, \
            lanes that were blocked by a credential or a certificate are unblocked, too.

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
        commandName: "cancel", abstract: "Cancels items permanently.",
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
        commandName: "verify", abstract: "Checks items of unknown outcome with the server again.",
        discussion: """
            "waybill outbox run" then queries the server about items that are paused or failed because they may have \
            arrived. If the server can't be queried, they end according to --on-unknown.

            EXAMPLES:
              waybill outbox verify 17
              waybill outbox verify --all

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    func run() async throws {
        try await control("verify", "to be verified") { outbox, items async throws(OutboxError) in
            try await outbox.verify(items)
        }
    }
}

/// `waybill outbox retry`: sends again from the start.
struct OutboxRetryCommand: OutboxControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Sends failed, waiting or paused items again from the start.",
        discussion: """
            Items that may have arrived are skipped, because they could arrive twice. Check the server first, or try \
            "waybill outbox verify"; --doubtful sends them anyway.

            EXAMPLES:
              waybill outbox retry --failed
              waybill outbox retry 17 --doubtful

            \(OutboxControlOptions.status)
            """)

    @OptionGroup var options: OutboxControlOptions

    @Flag(name: .customLong("doubtful"), help: "Include items that may have arrived: they may arrive twice.")
    var includesDoubtful = false

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            let counts = try await forEachPage("retry") { outbox, items async throws(OutboxError) in
                includesDoubtful
                    ? (changed: try await outbox.retry(items), leftOut: 0) : try await Self.retry(items, outbox)
            }
            let leftOut = counts.reduce(0) { $0 + $1.leftOut }
            try options.report(counts.reduce(0) { $0 + $1.changed }, "to be sent again", ["leftOut": leftOut])
            if leftOut > 0 {
                Console.standard.line(
                    "Skipped items that may have arrived: \(leftOut). "
                        + "Check them with waybill outbox verify, or use --doubtful."
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
        var retryable: [OutboxID] = []
        var items = outbox.items(selection).makeAsyncIterator()
        while let item = try await items.next() {
            guard [.failed, .paused, .waiting, .verify].contains(item.state) else { continue }
            if item.isDoubtful { leftOut += 1 } else { retryable.append(item.id) }
            guard retryable.count == batchSize else { continue }
            changed += try await outbox.retry(ItemSelection(ids: retryable))
            retryable = []
        }
        if !retryable.isEmpty { changed += try await outbox.retry(ItemSelection(ids: retryable)) }
        return (changed, leftOut)
    }

    private static let batchSize = 500
}
