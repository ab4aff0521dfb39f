import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox lanes`: lists lanes.
struct OutboxLanesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lanes",
        abstract: "Lists the lanes that are blocked or suspended, or have a limit.",
        discussion: """
            A lane is a server with an account. A lane that is not listed sends without a limit.

            EXAMPLES:
              waybill outbox lanes
              waybill outbox lanes --json

            EXIT STATUS:
                0  listed
                2  invalid usage, or there is no outbox
                7  the outbox can't be read
               75  another process uses the outbox and does not respond
            """)

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "Print one JSON object per line, the summary last.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let outbox = try await location.resolved().openExisting()
            let lanes = try await mappingOutboxErrors { () async throws(OutboxError) in try await outbox.lanes() }
            await outbox.close()
            if json {
                let output = JSONOutput(.standard)
                for lane in lanes { try output.write("lane", JSONObject(lane)) }
                try output.write("summary", ["result": "succeeded", "exit": Exit.done, "listed": lanes.count])
            } else {
                try StandardOutput.write(lanes.map { OutboxLaneText.line($0, now: OutboxTime.now) }.joined())
            }
            return .done
        }
    }
}

/// `waybill outbox rate`: limits the rate of a lane.
struct OutboxRateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate",
        abstract: "Limits the number of uploads of a lane that start within a time.",
        discussion: """
            The rate 100/1m starts at most 100 uploads in any minute, and spreads them over it. It is stored, also while \
            no process delivers. The outcome checks of "verify" count, too.

            EXAMPLES:
              waybill outbox rate backend.example:443 100/1m
              waybill outbox rate 'backend.example:443 as backend' none

            \(OutboxControlOptions.status)
            """)

    @Argument(
        help: ArgumentHelp("The lane, as printed by ls: host:port, or host:port as NAME.", valueName: "lane"))
    var lane: String

    @Argument(help: ArgumentHelp("The number and the time, such as 100/1m, or none.", valueName: "number/time"))
    var rate: String

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let rate = try Self.read(rate)
            try OutboxLaneText.check(lane)
            let outbox = try await location.resolved().openExisting()
            let name = lane
            try await mappingOutboxErrors { () async throws(OutboxError) in try await outbox.setRate(rate, lane: name) }
            await outbox.close()
            if json {
                try JSONOutput(.standard).write(
                    "summary",
                    ["result": "succeeded", "exit": Exit.done, "lane": lane, "rate": rate.map(JSONObject.init)])
            } else {
                let text = rate.map { "at most \(OutboxLaneText.text(of: $0))" } ?? "without a limit"
                try StandardOutput.write("\(Redaction.escaped(lane)): \(text)\n")
            }
            return .done
        }
    }

    /// Parses `100/1m` or `none`.
    static func read(_ text: String) throws(CommandFailure) -> LaneRate? {
        if text == "none" { return nil }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count) else {
            throw .usage(
                "The rate must be a number and a time, such as 100/1m, or none; got \(Redaction.quoted(text)).")
        }
        let period = try DurationArgument.read(String(parts[1]), for: "rate")
        guard period <= .seconds(366 * 86_400) else { throw .usage("The time of a rate must be at most 366d.") }
        return LaneRate(count, per: period)
    }
}

/// `waybill outbox limit`: limits the concurrent uploads of a lane.
struct OutboxLimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limits the number of concurrent uploads of a lane.",
        discussion: """
            The limit applies to all processes that deliver from the outbox together, in addition to --per-lane of \
            run, which is a limit of each process. It is stored, also while no process delivers. The outcome checks \
            of "verify" count, too. A lower limit stops no upload in progress.

            EXAMPLES:
              waybill outbox limit backend.example:443 4
              waybill outbox limit 'backend.example:443 as backend' none

            \(OutboxControlOptions.status)
            """)

    @Argument(
        help: ArgumentHelp("The lane, as printed by ls: host:port, or host:port as NAME.", valueName: "lane"))
    var lane: String

    @Argument(help: ArgumentHelp("The number, from 1 to 1000000, or none.", valueName: "number"))
    var limit: String

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "One JSON object.") var json = false

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let limit = try Self.read(limit)
            try OutboxLaneText.check(lane)
            let outbox = try await location.resolved().openExisting()
            let name = lane
            try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.setMaximumConcurrentDeliveries(limit, lane: name)
            }
            await outbox.close()
            if json {
                try JSONOutput(.standard).write(
                    "summary", ["result": "succeeded", "exit": Exit.done, "lane": lane, "limit": limit])
            } else {
                let text = limit.map(OutboxLaneText.text(ofLimit:)) ?? "without a limit on concurrent uploads"
                try StandardOutput.write("\(Redaction.escaped(lane)): \(text)\n")
            }
            return .done
        }
    }

    /// Parses `4` or `none`.
    static func read(_ text: String) throws(CommandFailure) -> Int? {
        if text == "none" { return nil }
        guard let limit = Int(text), (1...1_000_000).contains(limit) else {
            throw .usage("The limit must be a number from 1 to 1000000, or none; got \(Redaction.quoted(text)).")
        }
        return limit
    }
}

/// Formats lanes as lines and as JSON.
enum OutboxLaneText {
    /// Throws an error for a text that is the name of no lane.
    static func check(_ lane: String) throws(CommandFailure) {
        guard !lane.isEmpty else { throw .usage("The lane is empty. Pass one as printed by \"waybill outbox ls\".") }
    }

    /// Returns a lane: `backend.example:443: at most 100 in 60 s, next in 3 s; blocked: status401, tried in 12 s`.
    static func line(_ lane: OutboxLane, now: Int64) -> String {
        var facts: [String] = []
        if let rate = lane.rate {
            let wait = lane.nextStart.flatMap { $0 > now ? ", the next in \(OutboxTime.span($0 - now + 999))" : nil }
            facts.append("at most \(text(of: rate))\(wait ?? "")")
        }
        if let limit = lane.maximumConcurrentDeliveries { facts.append(text(ofLimit: limit)) }
        let rest = lane.suspendedUntil.flatMap { $0 > now ? OutboxTime.span($0 - now + 999) : nil }
        if let reason = lane.blocked {
            facts.append("blocked: \(reason)\(rest.map { ", tried in \($0)" } ?? "")")
        } else if let rest {
            facts.append("suspended for \(rest)")
        }
        return Redaction.escaped("\(lane.name): \(facts.isEmpty ? "open" : facts.joined(separator: "; "))") + "\n"
    }

    /// Returns a rate: `100 in 60 s`.
    static func text(of rate: LaneRate) -> String { "\(rate.count) in \(Figures.seconds(rate.period))" }

    /// Returns a limit on concurrent uploads: `at most 4 concurrent uploads`.
    static func text(ofLimit limit: Int) -> String {
        "at most \(limit) concurrent \(limit == 1 ? "upload" : "uploads")"
    }
}

extension JSONObject {
    init(_ rate: LaneRate) { self = ["count": rate.count, "seconds": rate.period] }

    init(_ lane: OutboxLane) {
        self = [
            "lane": lane.name, "blocked": lane.blocked, "suspendedUntil": lane.suspendedUntil.map(OutboxTime.text),
            "rate": lane.rate.map(JSONObject.init), "nextStart": lane.nextStart.map(OutboxTime.text),
            "limit": lane.maximumConcurrentDeliveries,
        ]
    }
}
