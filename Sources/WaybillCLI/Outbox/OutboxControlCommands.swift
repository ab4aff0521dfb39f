import ArgumentParser
import Waybill
import WaybillOutbox

/// What commands that steer items have in common.
struct OutboxControlOptions: ParsableArguments {
    @OptionGroup(title: "Items") var items: OutboxSelectionOptions
    @OptionGroup(title: "Outbox") var place: OutboxPlaceOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    /// Does something to the items that were chosen, and says to how many.
    func control(
        _ verb: String, _ done: String,
        _ work: (Outbox, ItemSelection) async throws(OutboxError) -> Int
    ) async throws(CommandFailure) -> Exit {
        let selection = try items.required(by: verb)
        let outbox = try await place.place().openExisting()
        try await items.checkIDs(in: outbox)
        var count = 0
        for page in selection.pages {
            count += try await asking { () async throws(OutboxError) in try await work(outbox, page) }
        }
        await outbox.close()
        try tell(count, done)
        return .done
    }

    func tell(_ count: Int, _ done: String, _ more: [JSONMember] = []) throws(CommandFailure) {
        if json {
            try JSONOutput(.standard).write(
                "summary",
                [
                    JSONMember("result", .string("succeeded")), JSONMember("exit", .int(0)),
                    JSONMember("changed", .int(Int64(count))),
                ] + more)
        } else {
            let line = "\(count) \(count == 1 ? "item" : "items") \(done)\n"
            try StandardOutput.write(Array(line.utf8))
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

/// `waybill outbox pause`.
struct OutboxPauseCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses items; what is being sent is stopped.",
        discussion: """
            EXAMPLES:
              waybill outbox pause 17
              waybill outbox pause --batch today

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            try await options.control("pause", "paused") { outbox, items async throws(OutboxError) in
                try await outbox.pause(items)
            }
        }
    }
}

/// `waybill outbox resume`.
struct OutboxResumeCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Lets paused items go on, and lanes that were blocked.",
        discussion: """
            A paused item of which nobody knows whether it arrived is asked about once more. With --lane or --all, lanes \
            that were blocked by a credential or a certificate get a new chance, too.

            EXAMPLES:
              waybill outbox resume --all
              waybill outbox resume --lane 'backend.example:443 as backend'

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            let (lane, isAll) = (options.items.lane, options.items.isAll)
            return try await options.control("resume", "resumed") { outbox, items async throws(OutboxError) in
                for name in try await outbox.blockedLanes().keys where isAll || name == lane {
                    try await outbox.unblock(lane: name)
                }
                return try await outbox.resume(items)
            }
        }
    }
}

/// `waybill outbox cancel`.
struct OutboxCancelCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Calls items off, for good.",
        discussion: """
            EXAMPLES:
              waybill outbox cancel 17 18
              waybill outbox cancel --tag draft

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            try await options.control("cancel", "cancelled") { outbox, items async throws(OutboxError) in
                try await outbox.cancel(items)
            }
        }
    }
}

/// `waybill outbox verify`.
struct OutboxVerifyCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Has servers asked once more about items in doubt.",
        discussion: """
            Items of which nobody knows whether they arrived, paused or failed for it, are asked about by whoever delivers. \
            Where nobody can be asked, they end as --on-unknown said.

            EXAMPLES:
              waybill outbox verify 17
              waybill outbox verify --all

            \(OutboxControlOptions.status)
            """)
    @OptionGroup var options: OutboxControlOptions

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.options.items.ids)] }

    func run() async throws {
        try await finishing(options.json) { () async throws(CommandFailure) in
            try await options.control("verify", "to be asked about") { outbox, items async throws(OutboxError) in
                try await outbox.verify(items)
            }
        }
    }
}
