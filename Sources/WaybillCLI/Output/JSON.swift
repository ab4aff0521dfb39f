import WaybillCore
import FoundationEssentials
import Waybill
import WaybillOutbox

/// A JSON value (RFC 8259).
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The JSON text on one line.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .double(let value): value.isFinite ? "\((value * 1_000).rounded() / 1_000)" : "null"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let object): object.text
        }
    }

    /// Returns the value with every string replaced.
    func mapStrings(_ transform: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(transform(text))
        case .array(let values): .array(values.map { $0.mapStrings(transform) })
        case .object(let object): .object(object.mapStrings(transform))
        case .null, .bool, .int, .double: self
        }
    }

    /// Returns a string literal in which everything that could control a terminal is escaped. JSON strings can't
    /// contain bytes that are not UTF-8, so those of a name are shown as in messages.
    fileprivate static func quoted(_ text: String) -> String {
        var shown = text
        if !SystemPath.isUTF8(text) {
            shown = text.unicodeScalars.map { scalar in
                SystemPath.byte(of: scalar) == nil ? String(scalar) : Redaction.escaped(String(scalar))
            }.joined()
        }
        return JSONText.quoted(shown, escaping: \.controlsOutput)
    }
}

/// A JSON object. Members keep their order, with `v` first.
struct JSONObject: Sendable, ExpressibleByDictionaryLiteral {
    private var members: [(name: String, value: JSONValue)]

    init(_ members: [(String, any JSONConvertible)]) {
        self.members = members.map { ($0.0, $0.1.json) }
    }

    init(dictionaryLiteral elements: (String, any JSONConvertible)...) { self.init(elements) }

    static func + (first: JSONObject, second: JSONObject) -> JSONObject {
        var object = first
        object.members += second.members
        return object
    }

    static func += (object: inout JSONObject, more: JSONObject) { object = object + more }

    /// The JSON text on one line.
    var text: String {
        "{" + members.map { "\(JSONValue.quoted($0.name)):\($0.value.text)" }.joined(separator: ",") + "}"
    }

    /// Returns the object with every string replaced, except the names of members.
    func mapStrings(_ transform: (String) -> String) -> JSONObject {
        var object = self
        object.members = members.map { ($0.name, $0.value.mapStrings(transform)) }
        return object
    }
}

/// A type whose values can be represented in JSON.
protocol JSONConvertible {
    var json: JSONValue { get }
}

extension JSONValue: JSONConvertible {
    var json: JSONValue { self }
}

extension JSONObject: JSONConvertible {
    var json: JSONValue { .object(self) }
}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    var json: JSONValue { self?.json ?? .null }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    var json: JSONValue { .array(map(\.json)) }
}

extension String: JSONConvertible {
    var json: JSONValue { .string(self) }
}

extension Bool: JSONConvertible {
    var json: JSONValue { .bool(self) }
}

extension BinaryInteger {
    var json: JSONValue { .int(Int64(self)) }
}

extension Int: JSONConvertible {}
extension Int32: JSONConvertible {}
extension Int64: JSONConvertible {}

/// Represented in seconds.
extension Duration: JSONConvertible {
    var json: JSONValue { .double(self / .seconds(1)) }
}

extension ByteCount: JSONConvertible {
    var json: JSONValue { .int(bytes) }
}

extension Exit: JSONConvertible {
    var json: JSONValue { rawValue.json }
}

extension OutboxID: JSONConvertible {
    var json: JSONValue { .int(rawValue) }
}

extension JSONObject {
    /// Returns the body of a response: as text, or in Base64 if it is not UTF-8.
    static func body(_ bytes: some Collection<UInt8>) -> JSONObject {
        if let text = String(validating: bytes, as: UTF8.self) { return ["body": text] }
        return ["bodyBase64": Data(bytes).base64EncodedString()]
    }
}

/// Standard output as a stream of JSON lines: schema version, time and event, followed by the members of the event.
struct JSONOutput: Sendable {
    /// Incremented when a member changes its meaning or is removed. New members may be added at any time.
    static let version = 1

    private let console: Console

    init(_ console: Console) {
        self.console = console
    }

    /// Writes a line. Known secrets are removed from every string except those of the server's response.
    ///
    /// - Throws: ``CommandFailure/Code/writeFailed`` if standard output can't be written.
    func write(_ event: String, _ members: JSONObject, response: JSONObject = [:]) throws(CommandFailure) {
        try StandardOutput.write(line(event, members, response: response))
    }

    /// Returns the line of an event at this moment, with its line break and without known secrets.
    func line(_ event: String, _ members: JSONObject, response: JSONObject = [:]) -> String {
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        return Self.line(event, members.mapStrings(console.scrubbed) + response, time: time)
    }

    /// Returns the line with its line break. The time is in UTC (RFC 3339).
    static func line(_ event: String, _ members: JSONObject, time: String) -> String {
        (["v": version, "t": time, "event": event] + members).text + "\n"
    }
}

/// Writes to standard output.
enum StandardOutput {
    /// Writes bytes.
    ///
    /// - Throws: ``CommandFailure/Code/writeFailed`` if standard output can't be written.
    static func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let code = Output.write(bytes, to: 1)
        guard code == 0 else { throw .output(code, "standard output", cannot: "written") }
    }

    /// Writes a string.
    ///
    /// - Throws: ``CommandFailure/Code/writeFailed`` if standard output can't be written.
    static func write(_ text: String) throws(CommandFailure) { try write(Array(text.utf8)) }
}
