import Waybill

/// A value of JSON (RFC 8259). Members keep their order, so that `v` comes first.
enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The text, on one line.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .double(let value): value.isFinite ? "\((value * 1_000).rounded() / 1_000)" : "null"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.quoted($0.name)):\($0.value.text)" }.joined(separator: ",") + "}"
        }
    }

    /// A string that is `null` when there is none.
    static func string(orNull text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    /// A number that is `null` when there is none.
    static func int(orNull number: Int64?) -> JSONValue { number.map { .int($0) } ?? .null }

    /// Escapes what has to be, and everything that could rewrite a terminal which shows the line.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if scalar.controlsOutput {
                    for unit in String(scalar).utf16 { result += escape(unit) }
                } else if SystemPath.byte(of: scalar) != nil {
                    // JSON has no bytes: the name is shown as in messages.
                    result += "\\" + Redaction.escaped(String(scalar))
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}

/// A name with its value.
struct JSONMember: Sendable, Hashable {
    var name: String
    var value: JSONValue

    init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }
}

/// One line of `--json`: schema version, time and event, then the members of the event.
struct JSONLine: Sendable, Hashable {
    /// Raised when a member changes its meaning or goes; new members may come at any time.
    static let version: Int64 = 1

    var event: String
    var members: [JSONMember]

    /// The line, with its line break. The time is UTC, as in RFC 3339.
    func text(time: String) -> String {
        let head = [
            JSONMember("v", .int(Self.version)), JSONMember("t", .string(time)), JSONMember("event", .string(event)),
        ]
        return JSONValue.object(head + members).text + "\n"
    }
}
