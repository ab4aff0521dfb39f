import HTTPTypes
import Waybill

/// The status line and the header fields of a response: for `-i` and `-D` as curl prints them, for `--json` as members.
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

    /// The head as it was received, the empty line at its end included. On a terminal, control characters are made visible.
    func bytes(forTerminal isTerminal: Bool) -> [UInt8] {
        let lines = [statusLine] + fields.map { "\($0.name.rawName): \($0.value)" } + [""]
        return lines.flatMap { Array((isTerminal ? Redaction.escaped($0) + "\n" : $0 + "\r\n").utf8) }
    }

    /// The fields in their order, without credentials: JSON lines are kept in logs.
    var json: JSONValue {
        let fields: [JSONObject] = fields.map { ["name": $0.name.rawName, "value": Self.shown($0)] }
        return fields.json
    }

    /// The value of a field without secrets: of cookies the name and the attributes, of addresses all but user and query.
    private static func shown(_ field: HTTPField) -> String {
        switch field.name {
        case .setCookie, .setCookie2: return cookie(field.value)
        case .location, .contentLocation: return Redaction.url(field.value)
        default: return QueueCheck.isSecret(field.name) ? Secret.placeholder : field.value
        }
    }

    /// `session=<redacted>; Path=/; HttpOnly` (RFC 6265 section 4.1.1).
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
