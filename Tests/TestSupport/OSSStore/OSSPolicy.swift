internal import FoundationEssentials

/// The policy of a form (PostObject): its expiration and its conditions, in all six forms.
struct OSSPolicy {
    enum Condition {
        case equal(name: String, value: String)
        case startsWith(name: String, prefix: String)
        case length(ClosedRange<Int>)
        case oneOf(name: String, values: [String])
        case noneOf(name: String, values: [String])
    }

    let expiration: Int
    let conditions: [Condition]

    /// Parses the field `policy`.
    ///
    /// - Throws: ``OSSRefusal`` if it is invalid.
    init(encoded: String) throws {
        guard let data = Data(base64Encoded: encoded), let text = String(validating: data, as: UTF8.self) else {
            throw Self.invalid("The policy is not base64 of a text.", ec: "0006-00000207")
        }
        let json: JSON
        do {
            json = try JSONDecoder().decode(JSON.self, from: Data(Self.withPlainDollars(text).utf8))
        } catch {
            throw Self.invalid("The policy is not JSON.", ec: "0006-00000207")
        }
        guard case .object(let members) = json, case .string(let end)? = members["expiration"],
            let expiration = StoreDate.fromISO(end)
        else { throw Self.invalid("The policy has no expiration, or not a time.", ec: "0006-00000209") }
        guard case .array(let list)? = members["conditions"], !list.isEmpty else {
            throw Self.invalid("The policy has no conditions.", ec: "0006-00000216")
        }
        self.expiration = expiration
        conditions = try list.flatMap(Self.conditions)
    }

    /// Returns the violated condition, or `nil` if the form satisfies the policy. Fields are looked up by their
    /// lower-case names.
    func violation(fileSize: Int, value: (String) -> String?) -> OSSRefusal? {
        for condition in conditions {
            let isMet =
                switch condition {
                case .equal(let name, let wanted): value(name) == wanted
                case .startsWith(let name, let prefix): value(name)?.hasPrefix(prefix) ?? false
                case .oneOf(let name, let values): value(name).map(values.contains) ?? false
                case .noneOf(let name, let values): value(name).map { !values.contains($0) } ?? false
                case .length: true
                }
            guard isMet else {
                return OSSRefusal.denied(
                    "Invalid according to Policy: Policy Condition failed: \(Self.said(condition))")
            }
            guard case .length(let range) = condition else { continue }
            if fileSize < range.lowerBound {
                return OSSRefusal(
                    400, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size",
                    ec: "0006-00000221")
            }
            if fileSize > range.upperBound {
                return OSSRefusal(
                    400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.", ec: "0006-00000222"
                )
            }
        }
        return nil
    }

    /// Returns whether a condition requires a specific value of a field.
    func wants(_ name: String) -> Bool {
        conditions.contains { condition in
            if case .equal(name, _) = condition { true } else { false }
        }
    }

    // MARK: Reading

    private static func conditions(_ json: JSON) throws -> [Condition] {
        switch json {
        case .object(let members):
            return try members.map { name, value in
                guard case .string(let text) = value else {
                    throw invalid("A condition is no text.", ec: "0006-00000217")
                }
                return .equal(name: name.lowercased(), value: unescaped(text))
            }
        case .array(let items):
            return [try condition(items)]
        default:
            throw invalid("A condition is neither an object nor a list.", ec: "0006-00000217")
        }
    }

    private static func condition(_ items: [JSON]) throws -> Condition {
        guard items.count == 3, case .string(let kind) = items[0] else {
            throw invalid("A condition does not have three items.", ec: "0006-00000218")
        }
        if kind == "content-length-range" {
            guard case .number(let low) = items[1], case .number(let high) = items[2], low >= 0, low <= high else {
                throw invalid("A range of lengths is none.", ec: "0006-00000219")
            }
            return .length(low...high)
        }
        guard case .string(let field) = items[1], field.hasPrefix("$"), field.utf8.count > 1 else {
            throw invalid("A condition names no field with a dollar before it.", ec: "0006-00000220")
        }
        let name = field.dropFirst().lowercased()
        switch (kind, items[2]) {
        case ("eq", .string(let value)): return .equal(name: name, value: unescaped(value))
        case ("starts-with", .string(let value)): return .startsWith(name: name, prefix: unescaped(value))
        case ("in", .array(let values)): return .oneOf(name: name, values: try values.map(text))
        case ("not-in", .array(let values)): return .noneOf(name: name, values: try values.map(text))
        default: throw invalid("There is no condition \(kind) with such a value.", ec: "0006-00000218")
        }
    }

    private static func text(_ json: JSON) throws -> String {
        guard case .string(let text) = json else { throw invalid("A value is no text.", ec: "0006-00000218") }
        return unescaped(text)
    }

    /// Replaces `\$`, which a policy may use for a dollar sign, though JSON does not permit it.
    private static func withPlainDollars(_ text: String) -> String {
        var result = ""
        var isEscaped = false
        for character in text.unicodeScalars {
            if isEscaped, character == "$" { result.unicodeScalars.removeLast() }
            result.unicodeScalars.append(character)
            isEscaped = character == "\\" && !isEscaped
        }
        return result
    }

    private static func unescaped(_ text: String) -> String {
        text.split(separator: "\\$", omittingEmptySubsequences: false).joined(separator: "$")
    }

    private static func said(_ condition: Condition) -> String {
        switch condition {
        case .equal(let name, let value): "[\"eq\", \"$\(name)\", \"\(value)\"]"
        case .startsWith(let name, let prefix): "[\"starts-with\", \"$\(name)\", \"\(prefix)\"]"
        case .oneOf(let name, let values): "[\"in\", \"$\(name)\", \(values)]"
        case .noneOf(let name, let values): "[\"not-in\", \"$\(name)\", \(values)]"
        case .length(let range): "[\"content-length-range\", \(range.lowerBound), \(range.upperBound)]"
        }
    }

    static func invalid(_ message: String, ec: String) -> OSSRefusal {
        OSSRefusal(400, "InvalidPolicyDocument", "Invalid Policy: \(message)", ec: ec)
    }
}

/// Any JSON value that a policy may contain.
private enum JSON: Decodable {
    case string(String)
    case number(Int)
    case array([JSON])
    case object([String: JSON])
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else if let value = try? container.decode([String: JSON].self) {
            self = .object(value)
        } else {
            self = .other
        }
    }
}
