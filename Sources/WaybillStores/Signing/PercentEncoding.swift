/// How names and values become part of a URL and of what is signed: RFC 3986 section 2.1, over the bytes of the text as UTF-8.
///
/// A request is refused when its URL and its signature disagree about one byte, so both are made with these two functions and
/// with nothing else.
///
/// ```swift
/// PercentEncoding.path("2026/票 1+2.jpg")       // 2026/%E7%A5%A8%201%2B2.jpg
/// PercentEncoding.query("a/b")                 // a%2Fb
/// ```
///
/// Everything is encoded but letters, digits and `-._~`, once, whatever it looks like: `%41` becomes `%2541`, because the
/// `%` is a byte of the name.
public enum PercentEncoding {
    /// A key as it stands in the path of a URL and in the canonical path of a signature: slashes stay.
    ///
    /// - Complexity: O(n), at most three bytes for one.
    public static func path(_ key: String) -> String { encoded(key, keeping: UInt8(ascii: "/")) }

    /// A name or a value as it stands in a query, in the URL and in what is signed: slashes are encoded.
    ///
    /// - Complexity: O(n), at most three bytes for one.
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

    /// RFC 3986 section 2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E
        }
    }
}
