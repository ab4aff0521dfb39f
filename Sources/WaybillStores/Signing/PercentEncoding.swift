/// The encoding of names and values in URLs and signatures: RFC 3986 section 2.1, over the UTF-8 bytes.
///
/// A store rejects a request whose URL and signature differ in a single byte, so both are encoded only with these two
/// functions.
///
/// ```swift
/// PercentEncoding.path("2026/票 1+2.jpg")       // 2026/%E7%A5%A8%201%2B2.jpg
/// PercentEncoding.query("a/b")                 // a%2Fb
/// ```
///
/// All bytes except letters, digits and `-._~` are encoded, exactly once and regardless of their meaning: `%41` becomes
/// `%2541`, because the `%` is part of the name.
public enum PercentEncoding {
    /// Returns a key as encoded in the path of a URL and in the canonical path of a signature. Slashes are kept.
    ///
    /// - Complexity: O(n), at most three output bytes per input byte.
    public static func path(_ key: String) -> String { encoded(key, keeping: UInt8(ascii: "/")) }

    /// Returns a name or value as encoded in the query of a URL and of a signature. Slashes are encoded.
    ///
    /// - Complexity: O(n), at most three output bytes per input byte.
    public static func query(_ text: String) -> String { encoded(text, keeping: nil) }

    private static func encoded(_ text: String, keeping kept: UInt8?) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) || byte == kept {
                result.append(byte)
            } else {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Whether a byte is unreserved (RFC 3986 section 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E
        }
    }
}
