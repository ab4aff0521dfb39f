import FoundationEssentials

/// A JSON object whose member names are compared without regard to case, hyphens and underscores.
struct LenientJSONObject: Sendable {
    private static let longest = 64 << 10
    private let members: [String: LenientJSONValue]

    /// Parses a response of at most 64 KiB. Errors never contain the input.
    init(_ bytes: [UInt8], what: String, failing code: StoreError.Code) throws(StoreError) {
        guard bytes.count <= Self.longest else {
            throw StoreError(code, "The JSON of \(what) has \(bytes.count) bytes, more than the limit of 64 KiB.")
        }
        guard case .object(let object)? = try? JSONDecoder().decode(LenientJSONValue.self, from: Data(bytes)) else {
            throw StoreError(
                code,
                "Expected \(what) as a JSON object, but got \(bytes.count) bytes in another format. Check whether a "
                    + "proxy or a login page responded.")
        }
        self.init(object)
    }

    init(_ object: [String: LenientJSONValue]) {
        var members: [String: LenientJSONValue] = [:]
        // Sort for a deterministic choice between two spellings of the same name.
        for name in object.keys.sorted() {
            let plain = String(decoding: name.utf8.filter { $0 != 0x2D && $0 != 0x5F }, as: UTF8.self).lowercased()
            if members[plain] == nil { members[plain] = object[name] }
        }
        self.members = members
    }

    /// Returns the first of the named members that exists and is not null.
    func member(_ names: String...) -> LenientJSONValue? { member(of: names) }

    func member(of names: [String]) -> LenientJSONValue? {
        names.lazy.compactMap { members[$0] }.first { $0 != .null }
    }

    func text(_ names: String...) -> String? { text(of: names) }

    func text(of names: [String]) -> String? { names.lazy.compactMap { members[$0]?.asText }.first }

    /// Returns a date in ISO 8601, or in seconds or milliseconds since 1970, as a number or a string.
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
                code, "The expiration is not a valid date. Use ISO 8601, or seconds or milliseconds since 1970.")
        }
        return date
    }

    /// Returns this object, or the first nested object, that has one of the named members.
    func holder(of names: [String], depth: Int = 0) -> LenientJSONObject? {
        if member(of: names) != nil { return self }
        guard depth < 4 else { return nil }
        for name in members.keys.sorted() {
            guard case .object(let inner)? = members[name] else { continue }
            if let found = LenientJSONObject(inner).holder(of: names, depth: depth + 1) { return found }
        }
        return nil
    }

    private static func date(of number: Double) -> Date? {
        guard number.isFinite, number > 0 else { return nil }
        // In seconds, this value would be in the year 5138; in milliseconds, it is in 1973.
        return Date(timeIntervalSince1970: number >= 100_000_000_000 ? number / 1_000 : number)
    }
}

/// A JSON value of unknown structure.
enum LenientJSONValue: Sendable, Hashable, Decodable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case array([LenientJSONValue])
    case object([String: LenientJSONValue])

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
        } else if let value = try? container.decode([LenientJSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: LenientJSONValue].self))
        }
    }

    /// The string, or a number as a string; `nil` for other values.
    var asText: String? {
        switch self {
        case .text(let text): text
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .null, .flag, .array, .object: nil
        }
    }
}
