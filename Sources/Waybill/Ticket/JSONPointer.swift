import FoundationEssentials
import WaybillCore
import WaybillMultipart

/// A JSON pointer (RFC 6901): a position in a JSON document.
struct JSONPointer: Sendable {
    private let tokens: [String]

    /// Parses a pointer.
    ///
    /// - Throws: ``UploadError/Code/invalidRequest``.
    init(_ text: String) throws(UploadError) {
        // Bytewise: a combining mark after a delimiter would form another Character.
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { throw Self.refused(text) }
        var tokens: [String] = []
        for token in text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
            guard let token = Self.unescaped(token) else { throw Self.refused(text) }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// Returns the value at the position; `nil` without one.
    func find(in document: JSONDocument) -> JSONDocument? {
        var value = document
        for token in tokens {
            switch value {
            case .object(let members):
                guard let member = members[token] else { return nil }
                value = member
            case .array(let elements):
                // An index has no leading zeros (RFC 6901 section 4).
                guard let index = Int(token), "\(index)" == token, elements.indices.contains(index) else { return nil }
                value = elements[index]
            case .scalar, .null: return nil
            }
        }
        return value
    }

    private static func unescaped(_ token: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = token[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func refused(_ text: String) -> UploadError {
        UploadError(
            .invalidRequest,
            "\(quoted(text)) is not a JSON pointer (RFC 6901). Begin it with \"/\", and write \"~\" as \"~0\" and "
                + "\"/\" in a name as \"~1\".",
            phase: .preparing)
    }
}

/// A decoded JSON document.
enum JSONDocument: Decodable, Sendable {
    case scalar(JSONScalar)
    case object([String: JSONDocument])
    case array([JSONDocument])
    case null

    /// Parses a document; `nil` if the bytes are not JSON.
    init?(_ bytes: [UInt8]) {
        guard let found = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = found
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let scalar = JSONScalar(value) {
            self = .scalar(scalar)
        } else if let members = try? value.decode([String: JSONDocument].self) {
            self = .object(members)
        } else if let elements = try? value.decode([JSONDocument].self) {
            self = .array(elements)
        } else {
            self = .null
        }
    }

    /// The text of a string, number or Boolean value; `nil` for anything else.
    var text: String? {
        if case .scalar(let scalar) = self { scalar.description } else { nil }
    }

    /// ``text``; `nil` for a number that may have been rounded: beyond 2^53, not every integer is a Double.
    var exactText: String? {
        if case .scalar(.number(let number)) = self, abs(number) > 0x1p53 { nil } else { text }
    }

    /// The strings of the members with one of these names in lower case, at any depth.
    func strings(named names: Set<String>) -> [String] {
        switch self {
        case .object(let members):
            members.flatMap { name, value in
                if names.contains(name.lowercased()), case .scalar(.text(let text)) = value { return [text] }
                return value.strings(named: names)
            }
        case .array(let elements): elements.flatMap { $0.strings(named: names) }
        case .scalar, .null: []
        }
    }
}
