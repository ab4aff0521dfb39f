import HTTPTypes
import Waybill

/// The status line and header fields of a response: in curl's format for `-i` and `-D`, as members for `--json`.
struct ResponseHead: Sendable, JSONConvertible {
    private let statusLine: String
    private let fields: HTTPFields

    init(_ response: UploadResponse) {
        let words = [
            response.metrics.httpVersion ?? "HTTP/1.1", "\(response.status.code)", response.status.reasonPhrase,
        ]
        statusLine = words.filter { !$0.isEmpty }.joined(separator: " ")
        fields = response.headers
    }

    /// Returns the head as received, including the final empty line, with control characters escaped for a terminal.
    func bytes(forTerminal isTerminal: Bool) -> [UInt8] {
        let lines = [statusLine] + fields.map { "\($0.name.rawName): \($0.value)" } + [""]
        return lines.flatMap { Array((isTerminal ? Redaction.escaped($0) + "\n" : $0 + "\r\n").utf8) }
    }

    /// The fields in order, without credentials, because JSON lines are often logged.
    var json: JSONValue {
        let fields: [JSONObject] = fields.map { ["name": $0.name.rawName, "value": Self.shown($0)] }
        return fields.json
    }

    /// Returns the value of a field without secrets: without cookie values, and without user and query of URLs.
    private static func shown(_ field: HTTPField) -> String {
        switch field.name {
        case .setCookie, .setCookie2: return cookie(field.value)
        case .location, .contentLocation: return Redaction.url(field.value)
        default: return QueueCheck.isSecret(field.name) ? Secret.placeholder : field.value
        }
    }

    /// Returns a redacted cookie: `session=<redacted>; Path=/; HttpOnly` (RFC 6265 section 4.1.1).
    private static func cookie(_ text: String) -> String {
        let bytes = text.utf8
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.endIndex
        guard let equals = bytes[..<end].firstIndex(of: UInt8(ascii: "=")) else { return Secret.placeholder }
        return String(text[...equals]) + Secret.placeholder + String(text[end...])
    }
}

extension HTTPField.Name {
    /// RFC 2965, obsolete and still sent.
    fileprivate static let setCookie2 = HTTPField.Name("Set-Cookie2")!
}
