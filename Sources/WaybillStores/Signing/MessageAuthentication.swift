import Crypto
import FoundationEssentials

/// The keyed hashes of the stores (RFC 2104), and their encodings.
package enum MessageAuthentication {
    /// Returns the HMAC-SHA1, which version 1 of OSS's signatures and Qiniu's tokens use.
    package static func sha1(key: some Sequence<UInt8>, _ message: String) -> [UInt8] {
        Array(HMAC<Insecure.SHA1>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: Array(key))))
    }

    /// Returns the HMAC-SHA256.
    package static func sha256(key: some Sequence<UInt8>, _ message: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: Array(key))))
    }

    /// Returns the unkeyed SHA-256 of a string in lower-case hexadecimal digits.
    package static func sha256Text(_ message: String) -> String {
        hexadecimal(Array(SHA256.hash(data: Array(message.utf8))))
    }

    /// Returns two lower-case hexadecimal digits for each byte.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns padded Base64 (RFC 4648 section 4).
    package static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
