/// A template of object keys: a pattern with variable parts in braces.
///
/// ```swift
/// let template: ObjectKeyTemplate = "idcard/{businessNo}/{year}/{month}/{day}/{uuid}{.ext}"
/// // idcard/20240117001/2026/11/21/0f8fad5b-d9cb-469f-a165-70867728950e.jpg
/// ```
///
/// | in braces | value |
/// | --- | --- |
/// | `{year}` `{month}` `{day}` `{hour}` `{minute}` `{second}` | the date in digits, at the chosen offset from UTC |
/// | `{date}` `{timestamp}` | `20261121`; seconds since 1970 |
/// | `{uuid}` | a random lower-case UUID (RFC 9562), new for each object |
/// | `{sha256}` `{md5}` | the digest of the bytes that are sent, in lower-case hexadecimal |
/// | `{stem}` `{ext}` | the sanitized file name without its extension; the extension in lower case |
/// | `{anything}` | the parameter of that name |
///
/// As in URI templates (RFC 6570), `{name:2}` inserts the first two characters, `{.name}` inserts a dot before a value
/// that is not empty, and `{+name}` allows slashes in a parameter, so that it can contain directories. Other parameters
/// can't contain slashes, so that untrusted input can't change the structure of the key. `{{` and `}}` are literal
/// braces.
///
/// An invalid pattern throws when the template is created from a `String`. An invalid string literal throws when the
/// template is first used.
public struct ObjectKeyTemplate: Sendable, Hashable {
    /// The pattern.
    public let pattern: String
    let steps: [Step]
    private let problem: String?

    /// Parses a pattern.
    ///
    /// - Throws: ``StoreError/Code/invalidKeyTemplate``, with the error and its position.
    public init(_ pattern: String) throws(StoreError) {
        self.init(reading: pattern)
        try check()
    }

    private init(reading pattern: String) {
        self.pattern = pattern
        do throws(TemplateError) {
            steps = try Self.read(pattern)
            problem = nil
        } catch {
            steps = []
            problem = error.message
        }
    }

    /// Whether keys depend on the content, which is then read once before it is sent.
    public var needsDigest: Bool { steps.contains { [.sha256, .md5].contains($0.field) } }

    /// The names of the parameters in the order of the pattern, without duplicates.
    public var parameters: [String] {
        var names: [String] = []
        for case .parameter(let name)? in steps.map(\.field) where !names.contains(name) { names.append(name) }
        return names
    }

    func check() throws(StoreError) {
        guard let problem else { return }
        throw StoreError(.invalidKeyTemplate, "The key template \"\(pattern)\" is invalid: \(problem).")
    }
}

extension ObjectKeyTemplate: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates a template from a string literal.
    public init(stringLiteral value: String) { self.init(reading: value) }
    /// The pattern.
    public var description: String { pattern }
}

extension ObjectKeyTemplate {
    /// The variable in a pair of braces.
    enum Field: Sendable, Hashable {
        case year, month, day, hour, minute, second, date, timestamp
        case uuid, sha256, md5, stem, ext
        case parameter(String)

        static let known: [String: Field] = [
            "year": .year, "month": .month, "day": .day, "hour": .hour, "minute": .minute, "second": .second,
            "date": .date, "timestamp": .timestamp, "uuid": .uuid, "sha256": .sha256, "md5": .md5, "stem": .stem,
            "ext": .ext,
        ]
    }

    /// An element of the pattern: literal text, or a variable with its modifiers.
    enum Step: Sendable, Hashable {
        case text(String)
        case field(Field, modifier: Modifier, length: Int?)

        var field: Field? {
            if case .field(let field, _, _) = self { field } else { nil }
        }
    }

    /// The modifier in front of the name.
    enum Modifier: Character, Sendable {
        case plain = " "
        case withSlashes = "+"
        case withDot = "."
    }

    private struct TemplateError: Error {
        let message: String
    }

    private static func read(_ pattern: String) throws(TemplateError) -> [Step] {
        var steps: [Step] = []
        var text = ""
        var rest = pattern[...]
        while let character = rest.popFirst() {
            let isDoubled = rest.first == character
            switch character {
            case "{" where isDoubled, "}" where isDoubled:
                rest.removeFirst()
                text.append(character)
            case "{":
                guard let end = rest.firstIndex(of: "}") else {
                    throw TemplateError(message: "a brace is not closed; write {{ for a literal brace")
                }
                if !text.isEmpty { steps.append(.text(text)) }
                text = ""
                steps.append(try field(rest[..<end]))
                rest = rest[rest.index(after: end)...]
            case "}":
                throw TemplateError(message: "a closing brace has no opening brace; write }} for a literal brace")
            default: text.append(character)
            }
        }
        if !text.isEmpty { steps.append(.text(text)) }
        guard !steps.isEmpty else { throw TemplateError(message: "it is empty") }
        return steps
    }

    private static func field(_ expression: Substring) throws(TemplateError) -> Step {
        var name = expression
        let modifier = name.first.flatMap(Modifier.init(rawValue:)) ?? .plain
        if modifier != .plain { name.removeFirst() }
        var length: Int?
        if let colon = name.firstIndex(of: ":") {
            let digits = name[name.index(after: colon)...]
            guard let number = Int(digits), (1...999).contains(number) else {
                throw TemplateError(message: "{\(expression)} must have a length from 1 to 999 after its colon")
            }
            length = number
            name = name[..<colon]
        }
        guard !name.isEmpty, name.utf8.allSatisfy(isWordByte) else {
            throw TemplateError(message: "{\(expression)} is not a valid name; use letters, digits and underscores")
        }
        let field = Field.known[String(name)] ?? .parameter(String(name))
        if modifier == .withSlashes, Field.known[String(name)] != nil {
            throw TemplateError(message: "{\(expression)} is not a parameter, and only parameters can contain slashes")
        }
        return .field(field, modifier: modifier, length: length)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
