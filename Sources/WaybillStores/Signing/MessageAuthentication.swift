import Crypto
import FoundationEssentials

/// Keyed hashes as the stores use them (RFC 2104), and how they are written.
package enum MessageAuthentication {
    /// HMAC-SHA1, which the first version of OSS's signatures and Qiniu's tokens are made of.
    package static func sha1(key: some Sequence<UInt8>, _ message: String) -> [UInt8] {
        Array(HMAC<Insecure.SHA1>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: Array(key))))
    }

    /// HMAC-SHA256.
    package static func sha256(key: some Sequence<UInt8>, _ message: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(message.utf8), using: SymmetricKey(data: Array(key))))
    }

    /// The plain SHA-256 of a text, in small hexadecimal digits.
    package static func sha256Text(_ message: String) -> String {
        hexadecimal(Array(SHA256.hash(data: Array(message.utf8))))
    }

    /// Two small digits for each byte.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// RFC 4648 section 4, padded.
    package static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
