import FoundationEssentials

/// An object of JSON whose names are spelled in somebody's own way: they are compared without case, hyphens and underlines.
struct LooseObject: Sendable {
    private static let longest = 64 << 10
    private let members: [String: LooseJSON]

    /// Reads an answer of at most 64 KiB. What was read is never part of the error.
    init(_ bytes: [UInt8], what: String, failing code: StoreError.Code) throws(StoreError) {
        guard bytes.count <= Self.longest else {
            throw StoreError(code, "an answer of \(bytes.count) bytes is not read for \(what): 64 KiB are the limit")
        }
        guard case .object(let object)? = try? JSONDecoder().decode(LooseJSON.self, from: Data(bytes)) else {
            throw StoreError(
                code,
                "what should be \(what) is no JSON object: \(bytes.count) bytes came; look for the page of a proxy or of a "
                    + "login")
        }
        self.init(object)
    }

    init(_ object: [String: LooseJSON]) {
        var members: [String: LooseJSON] = [:]
        // Sorted, so that of two spellings of one name the same one is taken every time.
        for name in object.keys.sorted() {
            let plain = String(decoding: name.utf8.filter { $0 != 0x2D && $0 != 0x5F }, as: UTF8.self).lowercased()
            if members[plain] == nil { members[plain] = object[name] }
        }
        self.members = members
    }

    /// The first of these that is there and not null.
    func member(_ names: String...) -> LooseJSON? { member(of: names) }

    func member(of names: [String]) -> LooseJSON? {
        names.lazy.compactMap { members[$0] }.first { $0 != .null }
    }

    func text(_ names: String...) -> String? { text(of: names) }

    func text(of names: [String]) -> String? { names.lazy.compactMap { members[$0]?.asText }.first }

    /// A date as ISO 8601, or as seconds or milliseconds since 1970, as a number or a text.
    func date(_ names: String..., failing code: StoreError.Code) throws(StoreError) -> Date? {
        let date: Date?
        switch member(of: names) {
        case nil: return nil
        case .number(let number)?: date = Self.date(of: number)
        case .text(let text)?: date = StoreDate.parse(text) ?? Double(text).flatMap { Self.date(of: $0) }
        default: date = nil
        }
        guard let date else {
            throw StoreError(
                code, "the expiration can't be read: give ISO 8601, or seconds or milliseconds since 1970")
        }
        return date
    }

    /// This object, or the first inside that has one of these names.
    func holder(of names: [String], depth: Int = 0) -> LooseObject? {
        if member(of: names) != nil { return self }
        guard depth < 4 else { return nil }
        for name in members.keys.sorted() {
            guard case .object(let inner)? = members[name] else { continue }
            if let found = LooseObject(inner).holder(of: names, depth: depth + 1) { return found }
        }
        return nil
    }

    private static func date(of number: Double) -> Date? {
        guard number.isFinite, number > 0 else { return nil }
        // As seconds, this many would be the year 5138; as milliseconds it is 1973.
        return Date(timeIntervalSince1970: number >= 100_000_000_000 ? number / 1_000 : number)
    }
}

/// JSON of which nothing is known.
enum LooseJSON: Sendable, Hashable, Decodable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case array([LooseJSON])
    case object([String: LooseJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .flag(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([LooseJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: LooseJSON].self))
        }
    }

    /// A text, or a number as text; `nil` for all else.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .null, .flag, .array, .object: nil
        }
    }
}
