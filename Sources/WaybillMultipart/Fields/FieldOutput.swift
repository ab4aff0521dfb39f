import FoundationEssentials
import WaybillCore

/// Collects the fields of a value in the order in which they are encoded.
final class FieldOutput {
    /// The maximum nesting depth. A deeper value is assumed to contain itself.
    static let maxDepth = 64
    // The maximum number of containers per encoder. Types with superclasses request a few; a type that passes its
    // encoder to itself would request them indefinitely.
    static let maxContainers = 256

    private(set) var parts: [MultipartPart] = []
    /// The settings for names and values.
    let settings: FormFieldEncoder
    /// Whether values are only visited to find one nested too deeply; no field is written and no value rejected.
    private let isDepthCheck: Bool

    init(_ settings: FormFieldEncoder, isDepthCheck: Bool = false) {
        (self.settings, self.isDepthCheck) = (settings, isDepthCheck)
    }

    func encode(
        _ value: some Encodable, named name: String, at path: [any CodingKey], depth: Int, isSecret: Bool
    ) throws {
        guard depth <= Self.maxDepth else { throw Self.tooDeep(path) }
        switch value {
        case let date as Date where !isDeferred: try put(text(of: date, at: path), named: name, at: path, isSecret)
        case let data as Data: try put(data, named: name, at: path, isSecret)
        case let url as URL: try put(url.absoluteString, named: name, at: path, isSecret)
        case let number as Decimal: try put(text(of: number, at: path), named: name, at: path, isSecret)
        case let entries as any TextKeyed:
            for (key, value) in entries.sortedEntries {
                try encode(
                    value, named: member(key, of: name, isData: true), at: path + [FieldKey(key)], depth: depth + 1,
                    isSecret: isSecret || settings.secrets.contains(key))
            }
        default: try value.encode(to: FieldEncoder(self, named: name, at: path, depth: depth, isSecret: isSecret))
        }
    }

    func put(_ text: String, named name: String, at path: [any CodingKey], _ isSecret: Bool) throws {
        guard !isDepthCheck else { return }
        guard let first = path.first, !name.utf8.isEmpty, !FieldKey.isElement(first) else {
            throw BodyError(
                .encodingFailed,
                "A value without a name cannot be encoded as form fields. Encode a struct or a dictionary.")
        }
        parts.append(isSecret ? .text(name, .secret(text)) : .text(name, text))
    }

    func putNil(named name: String, at path: [any CodingKey]) throws {
        switch settings.nils {
        case .leftOut: break
        case .empty: try put("", named: name, at: path, false)
        case .null: try put("null", named: name, at: path, false)
        }
    }

    func member(_ key: String, of name: String, isData: Bool = false) -> String {
        settings.style.member(isData ? key : settings.keys.name(for: key), of: name)
    }

    func element(_ index: Int, of name: String) -> String { settings.style.element(index, of: name) }

    func text(of value: Bool) -> String {
        switch settings.bools {
        case .digits: value ? "1" : "0"
        case .custom(let write): write(value)
        case .words: value ? "true" : "false"
        }
    }

    func text(of value: some BinaryFloatingPoint & CustomStringConvertible, at path: [any CodingKey]) throws -> String {
        guard value.isFinite || isDepthCheck else {
            throw BodyError(.encodingFailed, "\(Self.description(of: path)) is \(value), which is not a valid number.")
        }
        return value.description
    }

    static func tooDeep(_ path: [any CodingKey]) -> BodyError {
        BodyError(
            .nestedTooDeep,
            "The value is nested deeper than \(maxDepth) levels at \(description(of: Array(path.prefix(6))))…. "
                + "Check whether it contains itself.")
    }

    private static func description(of path: [any CodingKey]) -> String {
        quoted(path.map(\.stringValue).joined(separator: "."))
    }

    private var isDeferred: Bool {
        if case .deferredToDate = settings.dates { return true }
        return false
    }

    private func text(of number: Decimal, at path: [any CodingKey]) throws -> String {
        guard !number.isNaN || isDepthCheck else {
            throw BodyError(.encodingFailed, "\(Self.description(of: path)) is \(number), which is not a valid number.")
        }
        return number.description
    }

    private func text(of date: Date, at path: [any CodingKey]) throws -> String {
        guard !isDepthCheck else { return "" }
        switch settings.dates {
        case .secondsSince1970:
            let seconds = date.timeIntervalSince1970
            guard seconds.isFinite else { throw Self.unrepresentableDate(date, path) }
            return Int64(exactly: seconds).map(String.init) ?? String(seconds)
        case .millisecondsSince1970:
            guard let count = Int64(exactly: (date.timeIntervalSince1970 * 1_000).rounded()) else {
                throw Self.unrepresentableDate(date, path)
            }
            return String(count)
        case .custom(let write): return write(date)
        case .iso8601, .deferredToDate:
            guard Self.yearsOfFourDigits.contains(date.timeIntervalSince1970) else {
                throw Self.unrepresentableDate(date, path)
            }
            return date.formatted(.iso8601)
        }
    }

    private static func unrepresentableDate(_ date: Date, _ path: [any CodingKey]) -> BodyError {
        BodyError(
            .encodingFailed,
            "\(description(of: path)) is a date \(date.timeIntervalSince1970) seconds after 1970, which its date "
                + "format cannot represent. Use another date strategy.")
    }

    // The years 1 (of Date.distantPast) to 9999: the range of ISO 8601 without mutual agreement.
    private static let yearsOfFourDigits = -62_135_769_600.0..<253_402_300_800.0

    private func put(_ data: Data, named name: String, at path: [any CodingKey], _ isSecret: Bool) throws {
        guard !isDepthCheck else { return }
        switch settings.data {
        case .part where !name.utf8.isEmpty: parts.append(.data(name, data))
        case .custom(let write): try put(write(data), named: name, at: path, isSecret)
        case .base64, .part: try put(data.base64EncodedString(), named: name, at: path, isSecret)
        }
    }
}

/// A dictionary with string keys: its keys are data, and it has no inherent order.
private protocol TextKeyed {
    var sortedEntries: [(key: String, value: any Encodable)] { get }
}

extension Dictionary: TextKeyed where Key == String, Value: Encodable {
    fileprivate var sortedEntries: [(key: String, value: any Encodable)] {
        sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { (key: $0.key, value: $0.value) }
    }
}

/// A coding key for list elements and for names created during encoding.
struct FieldKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ text: String) {
        stringValue = text
        intValue = nil
    }

    init(index: Int) {
        stringValue = String(index)
        intValue = index
    }

    /// Whether a key is the index of a list element.
    static func isElement(_ key: any CodingKey) -> Bool { key is FieldKey && key.intValue != nil }

    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(index: intValue) }
}

extension BodyError {
    /// Returns the reason why a value cannot be encoded. The value itself, which may be a secret, is omitted.
    static func reason(of error: any Error) -> String {
        guard case .invalidValue(_, let context)? = error as? EncodingError else { return "\(error)" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return "\(path.utf8.isEmpty ? "" : "\(quoted(path)): ")\(context.debugDescription)"
    }
}
