/// Text formats of protocols for the test stores. No code is shared with the code under test.
enum StoreText {
    /// Returns the bytes of a percent-encoded text, or `nil` if an escape is invalid. A `+` is a plus sign.
    static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            result.append(value)
            rest = rest.dropFirst(2)
        }
        return result
    }

    /// Percent-encodes all bytes except the unreserved characters of RFC 3986 and those of `also`.
    static func encoded(_ bytes: some Sequence<UInt8>, also: String = "") -> String {
        let kept = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".utf8).union(also.utf8)
        var text: [UInt8] = []
        for byte in bytes {
            if kept.contains(byte) {
                text.append(byte)
            } else {
                text.append(UInt8(ascii: "%"))
                text += hexDigits(byte).map { $0 >= UInt8(ascii: "a") ? $0 - 32 : $0 }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns lower-case hexadecimal digits.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap(hexDigits), as: UTF8.self)
    }

    /// Returns sixteen upper-case hexadecimal digits.
    static func hex(_ number: UInt64) -> String {
        hex((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }).uppercased()
    }

    /// Returns a text escaped for XML.
    static func xml(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// Returns a text with the escapes of simple XML decoded.
    static func fromXML(_ text: String) -> String {
        var result = text
        for (name, character) in [("lt", "<"), ("gt", ">"), ("quot", "\""), ("#34", "\""), ("apos", "'"), ("amp", "&")]
        {
            result = result.split(separator: "&\(name);", omittingEmptySubsequences: false).joined(separator: character)
        }
        return result
    }

    /// Returns the text between each `<name>` and `</name>`.
    static func elements(_ name: String, in text: String) -> [String] {
        text.split(separator: "<\(name)>", omittingEmptySubsequences: false).dropFirst().compactMap { piece in
            let parts = piece.split(separator: "</\(name)>", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? String(parts[0]) : nil
        }
    }

    /// Returns whether bytes precede others by value.
    static func precedes(_ one: some Sequence<UInt8>, _ other: some Sequence<UInt8>) -> Bool {
        one.lexicographicallyPrecedes(other)
    }

    private static func hexDigits(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
