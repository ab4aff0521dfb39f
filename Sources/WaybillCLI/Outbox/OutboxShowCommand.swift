import ArgumentParser
import Waybill
import WaybillOutbox

/// `waybill outbox show`: prints all stored details of items.
struct OutboxShowCommand: AsyncParsableCommand, TakesManyArguments {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows all stored details of items, including the server's response.",
        discussion: """
            Secrets are not stored, so only the names of credentials are shown. The query of a URL is omitted.

            EXAMPLES:
              waybill outbox show 17
              waybill outbox show 17 18 --json

            EXIT STATUS:
                0  shown, whatever the state of the items
                2  invalid usage, or there is no such item
                7  the outbox can't be read
               75  another process uses the outbox and does not respond
            """)

    @Argument(help: ArgumentHelp("Items, by their numbers.", valueName: "id"))
    var ids: [Int64]

    @OptionGroup(title: "Outbox") var location: OutboxLocationOptions
    @Flag(name: .customLong("json"), help: "Print one JSON object per line.") var json = false

    static var manyArguments: [String: ManyArguments<Self>] { ["": .numbers(\.ids)] }

    func run() async throws {
        try await finishing(json) { () async throws(CommandFailure) in
            let outbox = try await location.resolved().openExisting()
            for (index, id) in ids.enumerated() {
                let found = try await mappingOutboxErrors { () async throws(OutboxError) in
                    try await outbox.details(of: OutboxID(rawValue: id))
                }
                guard let found else {
                    throw CommandFailure(
                        code: CommandFailure.Code("notFound"), exit: .usage,
                        message:
                            "There is no item \(id), or it ended long ago. List all items with waybill outbox ls --all."
                    )
                }
                if json {
                    try JSONOutput(.standard).write(
                        "item", OutboxShow.members(of: found), response: .response(of: found.last))
                } else {
                    let text = (index > 0 ? "\n" : "") + OutboxShow.text(of: found)
                    try StandardOutput.write(text)
                }
            }
            await outbox.close()
            return .done
        }
    }
}

/// Formats the stored details of an item as lines and as JSON.
enum OutboxShow {
    static func text(of details: OutboxDetails) -> String {
        let (item, last) = (details.item, details.last)
        var facts: [(String, String?)] = [
            ("item", "\(item.id)"), ("state", item.state.rawValue), ("reason", item.reason),
            (
                "doubt",
                item.isDoubtful ? "may have been delivered" : nil
            ),
            ("upload", details.summary ?? "\(item.kind) (unknown to this release)"), ("lane", item.lane),
            ("attempts", "\(item.attempts) of \(details.maxAttempts)"),
            ("size", item.size.map { ByteCount(bytes: $0).description }), ("batch", item.batch),
            ("tags", item.tags.isEmpty ? nil : item.tags.joined(separator: ", ")), ("priority", item.priority.level),
            ("dedupe key", item.deduplicationKey), ("idempotency key", item.idempotencyKey),
            ("on unknown", details.onUnknown.rawValue), ("if changed", details.onChange.rawValue),
            ("queued", OutboxTime.text(item.createdAt)), ("deadline", details.deadline.map(OutboxTime.text)),
            ("next attempt", item.dueAt.map(OutboxTime.text)), ("ended", item.endedAt.map(OutboxTime.text)),
            ("only on", item.host),
        ]
        facts += details.files.map { ("file", $0.isStaged ? "a copy in the outbox" : $0.path) }
        facts += details.attempts.map { ($0.purpose == .delivery ? "attempt \($0.number)" : "verification", line($0)) }
        facts += [("last attempt", last.message), ("status", last.status.map { "\($0)" })]
        facts += last.headers.map { ("header", "\($0.name): \($0.value)") }
        var text = facts.compactMap { name, value in value.map { line(name, $0) } }.joined()
        if !last.body.isEmpty {
            text += line(
                "body", last.body.count > shownAtMost ? "the first \(shownAtMost) of \(last.body.count) bytes" : "")
            let body = UntrustedText.escaped(last.body.prefix(shownAtMost))
            text +=
                body.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }.joined(separator: "\n")
                + "\n"
        }
        return text
    }

    static func members(of details: OutboxDetails) -> JSONObject {
        let last = details.last
        let history: [JSONObject] = details.attempts.map {
            [
                "number": $0.number, "purpose": $0.purpose.rawValue, "startedAt": OutboxTime.text($0.startedAt),
                "endedAt": OutboxTime.text($0.endedAt), "result": $0.result, "status": $0.status, "sent": $0.sent,
            ]
        }
        let files: [JSONObject] = details.files.map { ["path": $0.path, "isStaged": $0.isStaged, "size": $0.count] }
        return JSONObject(details.item) + [
            "summary": details.summary, "maxAttempts": details.maxAttempts, "onUnknown": details.onUnknown.rawValue,
            "ifChanged": details.onChange.rawValue, "deadline": details.deadline.map(OutboxTime.text),
            "files": files, "history": history, "sequence": last.sequence == 0 ? nil : last.sequence,
            "message": last.message,
            "status": last.status, "sourceChangedAfterwards": last.sourceChangedAfterwards,
        ]
    }

    /// Returns an attempt: `2026-11-22T08:15:30Z for 1.2 s: status503, 503, 312.4 KiB sent`.
    private static func line(_ attempt: OutboxAttempt) -> String {
        let time = Figures.seconds(.milliseconds(max(0, attempt.endedAt - attempt.startedAt)))
        let facts = [
            attempt.result, attempt.status.map { "\($0)" }, attempt.sent.map { "\(ByteCount(bytes: $0)) sent" },
        ]
        return "\(OutboxTime.text(attempt.startedAt)) for \(time): \(facts.compactMap { $0 }.joined(separator: ", "))"
    }

    private static func line(_ name: String, _ value: String) -> String {
        let head = name + String(repeating: " ", count: max(1, 17 - name.utf8.count))
        return "\(value.isEmpty ? name : head + Redaction.escaped(value))\n"
    }

    private static let shownAtMost = 4_096
}
