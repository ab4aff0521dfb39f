public import FoundationEssentials
import WaybillCore

/// The constraints of a form that is posted to OSS. A server signs the policy, and a client that has the signed form
/// can upload only within these constraints.
///
/// ```swift
/// var policy = OSSPostPolicy(expiration: .now.addingTimeInterval(600))
/// policy.conditions = [
///     .bucket("cards"), .startsWith("key", "2026/\(clerk)/"), .contentLength(1...102_400),
///     .oneOf("content-type", ["image/jpeg", "image/png"]),
/// ]
/// let form = try policy.form(at: "https://cards.oss-cn-hangzhou.aliyuncs.com/", rules: rules, credentials: credentials)
/// ```
///
/// The JSON of a policy is deterministic, byte for byte. At OSS, a field without a condition can have any value: add a
/// condition for every field that matters. Stores of S3 reject a form with a field that has no condition.
public struct OSSPostPolicy: Sendable, Hashable {
    /// A constraint on one field. Fields have the names of the form, without the dollar sign of the JSON.
    public enum Condition: Sendable, Hashable {
        /// The field equals a value, written as `{"field": "value"}`.
        case exactly(_ field: String, _ value: String)
        /// The field equals a value, written as `["eq", "$field", "value"]`. Equivalent to ``exactly(_:_:)``.
        case equals(_ field: String, _ value: String)
        /// The field begins with a prefix.
        case startsWith(_ field: String, _ prefix: String)
        /// The size of the file in bytes is in a range.
        case contentLength(ClosedRange<Int64>)
        /// The field equals one of the values.
        case oneOf(_ field: String, _ values: [String])
        /// The field equals none of the values.
        case noneOf(_ field: String, _ values: [String])

        /// Returns the condition that the object is stored in a bucket.
        public static func bucket(_ name: String) -> Condition { .exactly("bucket", name) }
        /// Returns the condition that the object has a key.
        public static func key(_ key: String) -> Condition { .equals("key", key) }
    }

    /// The date at which the policy expires, written in whole seconds.
    public var expiration: Date
    /// The conditions, all of which must be met.
    public var conditions: [Condition]

    /// Creates a policy.
    public init(expiration: Date, conditions: [Condition] = []) {
        self.expiration = expiration
        self.conditions = conditions
    }

    /// Returns the policy as JSON.
    ///
    /// - Throws: ``StoreError/Code/invalidPolicy``.
    /// - Complexity: O(n) for n bytes.
    public func json() throws(StoreError) -> String { try json(escapesDollars: true) }

    /// Returns the policy as JSON, with `\$` for each dollar sign in a value if the store treats `$` as the start of a
    /// variable. OSS does; JSON has no such escape, so other stores may reject it.
    func json(escapesDollars: Bool) throws(StoreError) -> String {
        guard !conditions.isEmpty else {
            throw StoreError(
                .invalidPolicy,
                "The policy has no conditions, and stores reject such policies. Add at least a condition for the "
                    + "bucket.")
        }
        let writer = PolicyText(escapesDollars: escapesDollars)
        var texts: [String] = []
        for condition in conditions { texts.append(try writer.json(of: condition)) }
        return "{\"expiration\":\"\(StoreDate.iso8601(expiration))\",\"conditions\":[\(texts.joined(separator: ","))]}"
    }

    /// Whether an equality condition for the field exists.
    func names(_ field: String) -> Bool {
        conditions.contains { condition in
            switch condition {
            case .exactly(let name, _), .equals(let name, _): Array(name.utf8) == Array(field.utf8)
            case .startsWith, .contentLength, .oneOf, .noneOf: false
            }
        }
    }
}

/// Formats conditions as JSON.
private struct PolicyText {
    let escapesDollars: Bool

    func json(of condition: OSSPostPolicy.Condition) throws(StoreError) -> String {
        switch condition {
        case .exactly(let field, let value):
            try check(field)
            return "{\(quoted(field)):\(quoted(value))}"
        case .equals(let field, let value):
            return "[\"eq\",\(try variable(field)),\(quoted(value))]"
        case .startsWith(let field, let prefix):
            return "[\"starts-with\",\(try variable(field)),\(quoted(prefix))]"
        case .contentLength(let range):
            guard range.lowerBound >= 0 else {
                throw StoreError(
                    .invalidPolicy, "The content length range of the policy begins below 0. Begin at 0 or 1.")
            }
            return "[\"content-length-range\",\(range.lowerBound),\(range.upperBound)]"
        case .oneOf(let field, let values):
            return "[\"in\",\(try variable(field)),\(try list(values, of: field))]"
        case .noneOf(let field, let values):
            return "[\"not-in\",\(try variable(field)),\(try list(values, of: field))]"
        }
    }

    private func check(_ field: String) throws(StoreError) {
        guard !field.isEmpty else {
            throw StoreError(.invalidPolicy, "A condition of the policy has an empty field name.")
        }
        guard field.utf8.first != UInt8(ascii: "$") else {
            throw StoreError(
                .invalidPolicy,
                "The field name of a condition begins with a dollar sign. Remove it: it is added automatically.")
        }
    }

    private func variable(_ field: String) throws(StoreError) -> String {
        try check(field)
        return "\"$\(quoted(field).dropFirst())"
    }

    private func list(_ values: [String], of field: String) throws(StoreError) -> String {
        guard !values.isEmpty else {
            throw StoreError(.invalidPolicy, "The policy has no values for the field \(StoreError.shown(field)).")
        }
        return "[\(values.map(quoted).joined(separator: ","))]"
    }

    private func quoted(_ text: String) -> String {
        guard escapesDollars else { return JSONText.quoted(text) }
        // Replace bytes: a combining mark after the dollar sign would make it part of another Character.
        return String(
            decoding: JSONText.quoted(text).utf8.flatMap { $0 == UInt8(ascii: "$") ? [0x5C, $0] : [$0] }, as: UTF8.self)
    }
}
