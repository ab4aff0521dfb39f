import ArgumentParser
import Glibc
import Waybill
import WaybillOutbox

/// `waybill outbox ls`: lists items.
struct OutboxListCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists items: unfinished and failed ones by default.",
        discussion: """
            Prints one line per item, ordered by number and truncated to the width of the terminal. Items are read in \
            pages, so memory use does not depend on their number.

            EXAMPLES:
              waybill outbox ls
              waybill outbox ls --all --json
              waybill outbox ls --failed --batch today

            EXIT STATUS:
                0  listed, whatever the state of the items
                2  invalid usage, or there is no outbox
                7  the outbox can't be read
               75  another process uses the outbox and does not respond
            """)

    @OptionGroup(title: "Items") var items: OutboxSelectionOptions
    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "Print one JSON object per line, the counts last.") var json = false

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.items.ids)] }

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let chosen = try items.selection()
            let outbox = try await location.resolved().openExisting()
            try await items.checkIDs(in: outbox)
            if json { try await listJSON(outbox, chosen ?? Self.standard) } else { try await list(outbox, chosen) }
            await outbox.close()
            return .done
        }
    }

    private static let standard = ItemSelection(
        states: Set(OutboxState.allCases).subtracting([.done, .cancelled]))

    private func list(_ outbox: Outbox, _ chosen: ItemSelection?) async throws(CommandFailure) {
        let table = OutboxTable(columns: isatty(1) == 1 ? Terminal.columns(of: 1) : nil, now: OutboxTime.now)
        var text = ""
        var isFirst = true
        var items = outbox.items(chosen ?? Self.standard).makeAsyncIterator()
        while let item = try await Self.next(&items) {
            if isFirst { text = table.head }
            isFirst = false
            text += table.line(item)
            guard text.utf8.count > Self.flushThreshold else { continue }
            try StandardOutput.write(text)
            text = ""
        }
        if !text.isEmpty { try StandardOutput.write(text) }
        guard chosen == nil else { return }
        let tally = try await mappingOutboxErrors { () async throws(OutboxError) in try await outbox.tally() }
        let hidden = [(tally[.done], "delivered"), (tally[.cancelled], "cancelled")].filter { $0.0 > 0 }
        guard !hidden.isEmpty else { return }
        Console.standard.line(
            "Not shown: \(hidden.map { "\($0.0) \($0.1)" }.joined(separator: ", ")). Show them with --all.")
    }

    private func listJSON(_ outbox: Outbox, _ chosen: ItemSelection) async throws(CommandFailure) {
        let json = JSONOutput(.standard)
        var items = outbox.items(chosen).makeAsyncIterator()
        var count: Int64 = 0
        while let item = try await Self.next(&items) {
            try json.write("item", JSONObject(item))
            count += 1
        }
        let tally = try await mappingOutboxErrors { () async throws(OutboxError) in try await outbox.tally() }
        try json.write(
            "summary",
            ["result": "succeeded", "exit": Exit.done, "listed": count, "states": JSONObject(tally)])
    }

    private static func next(_ items: inout AsyncValues<OutboxItem, OutboxError>.Iterator) async throws(CommandFailure)
        -> OutboxItem?
    {
        do throws(OutboxError) { return try await items.next() } catch { throw CommandFailure(error) }
    }

    private static let flushThreshold = 32_768
}

/// Formats items as lines of a table.
///
/// ```
///     ID  STATE       TRIES        SIZE      AGE  TO
///     17  waiting         3   312.4 KiB    5 min  backend.example:443  status503, again in 12 s  [today]
/// ```
///
/// The columns have fixed widths, since the list may be too long to keep in memory. External strings come last and are
/// escaped.
struct OutboxTable {
    /// The width at which lines are truncated; `nil` for no limit.
    let columns: Int?
    /// The current time in milliseconds since 1970.
    let now: Int64

    var head: String { cut("    ID  STATE       TRIES        SIZE      AGE  TO") }

    func line(_ item: OutboxItem) -> String {
        let state = item.isDoubtful && item.state != .verify ? "\(item.state.rawValue)?" : item.state.rawValue
        let fixed = [
            Self.right("\(item.id)", 6), Self.left(state, 9), Self.right("\(item.attempts)", 6),
            Self.right(item.size.map { ByteCount(bytes: $0).description } ?? "-", 10),
            Self.right(OutboxTime.span(now - item.createdAt), 7),
        ]
        var facts = [item.lane]
        var why = item.reason
        if let due = item.dueAt {
            // A delayed item has not been attempted yet.
            let verb = item.attempts == 0 && item.reason == nil ? "starts" : "again"
            why = [why, due > now ? "\(verb) in \(OutboxTime.span(due - now))" : "\(verb) now"].compactMap { $0 }
                .joined(separator: ", ")
        }
        if let why { facts.append(why) }
        if let host = item.host, !item.state.isTerminal { facts.append("only on \(host)") }
        if let batch = item.batch { facts.append("[\(batch)]") }
        facts += item.tags.map { "#\($0)" }
        let text = (fixed + [facts.map(Redaction.escaped).joined(separator: "  ")]).joined(separator: "  ")
        return cut(text)
    }

    private func cut(_ line: String) -> String {
        (columns.map { TerminalText.fitted(line, to: $0) } ?? line) + "\n"
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }
}
