/// The types of structured field values (RFC 9651) that resumable uploads use. A value of another type is `nil`, as the
/// draft requires: the field is then ignored.
enum StructuredField {
    /// Parses a non-negative Integer Item. Parameters are ignored.
    static func integer(_ text: String?) -> Int64? {
        guard let item = item(text) else { return nil }
        guard !item.isEmpty, item.utf8.count <= 15, item.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(item)
    }

    /// Parses a Boolean Item. Parameters are ignored.
    static func boolean(_ text: String?) -> Bool? {
        switch item(text) {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    /// Parses a Dictionary whose known members are non-negative Integers.
    ///
    /// - Returns: The values of the known keys, or `nil` if the field is malformed or a known key has another type.
    static func integers(_ text: String?, keys: Set<String>) -> [String: Int64]? {
        guard let text else { return nil }
        var values: [String: Int64] = [:]
        for member in splitOutsideStrings(text, at: ",") {
            let member = trimmed(member)
            guard let equals = member.firstIndex(of: "=") else {
                // A key without a value is a Boolean.
                guard isKey(member.prefix { $0 != ";" }), !keys.contains(String(member.prefix { $0 != ";" })) else {
                    return nil
                }
                continue
            }
            let key = String(member[..<equals])
            guard isKey(key[...]) else { return nil }
            guard keys.contains(key) else { continue }
            guard let value = integer(String(member[member.index(after: equals)...])) else { return nil }
            values[key] = value
        }
        return values
    }

    /// Returns the bare item of a field without its parameters.
    private static func item(_ text: String?) -> String? {
        guard let text else { return nil }
        let bare = splitOutsideStrings(text, at: ";")[0]
        return trimmed(bare[...])
    }

    private static func isKey(_ key: Substring) -> Bool {
        guard let first = key.utf8.first, (0x61...0x7A).contains(first) || first == UInt8(ascii: "*") else {
            return false
        }
        return key.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "_-.*".utf8.contains(byte)
        }
    }

    private static func splitOutsideStrings(_ text: String, at separator: Character) -> [Substring] {
        var isInString = false
        var isEscaped = false
        return text.split(omittingEmptySubsequences: false) { character in
            defer { isEscaped = isInString && character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isInString.toggle() }
            return character == separator && !isInString
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let spaces: Set<Character> = [" ", "\t"]
        guard let first = text.firstIndex(where: { !spaces.contains($0) }),
            let last = text.lastIndex(where: { !spaces.contains($0) })
        else { return "" }
        return String(text[first...last])
    }
}
