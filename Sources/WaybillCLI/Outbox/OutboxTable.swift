import Waybill
import WaybillOutbox

/// Items as the lines of a table. Pure.
///
/// ```
///     ID  STATE      TRIES        SIZE      AGE  TO
///     17  waiting      3    312.4 KiB     5 min  backend.example:443  status503, again in 12 s  [today]
/// ```
///
/// The columns have fixed widths, since the list may be longer than anybody wants to keep in memory; what comes from
/// elsewhere stands last, made harmless.
struct OutboxTable {
    /// Where lines are cut; `nil` for nowhere.
    let columns: Int?
    /// Milliseconds since 1970.
    let now: Int64

    var head: String { cut("    ID  STATE      TRIES        SIZE      AGE  TO") }

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
            why = [why, due > now ? "again in \(OutboxTime.span(due - now))" : "again now"].compactMap { $0 }.joined(
                separator: ", ")
        }
        if let why { facts.append(why) }
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
