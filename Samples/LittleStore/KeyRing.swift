import Crypto
import Foundation

/// The valid keys of a store: permanent keys of an account, and temporary ones.
public actor KeyRing {
    /// An access key. A temporary one has a token and an expiration.
    public struct Keys: Sendable {
        /// The access key ID.
        public let id: String
        /// The access key secret.
        public let secret: String
        /// The security token of a temporary key.
        public let token: String?
        /// The expiration of a temporary key.
        public let expiration: Date?
    }

    /// The region in the scope of signatures.
    public nonisolated let region = "cn-hangzhou"
    private var keysByID: [String: Keys] = [:]

    /// Creates an empty key ring.
    public init() {}

    /// Adds and returns permanent keys, for a server.
    public func account() -> Keys { add(id: "LTAI", token: nil, expiration: nil) }

    /// Adds and returns temporary keys, as AssumeRole of STS does.
    public func temporaryKeys(lasting seconds: TimeInterval) -> Keys {
        add(id: "STS.", token: Self.random(64), expiration: Date(timeIntervalSinceNow: seconds))
    }

    /// Returns the keys with an ID.
    func keys(_ id: String) -> Keys? { keysByID[id] }

    private func add(id: String, token: String?, expiration: Date?) -> Keys {
        let keys = Keys(id: id + Self.random(16), secret: Self.random(32), token: token, expiration: expiration)
        keysByID[keys.id] = keys
        return keys
    }

    private static func random(_ count: Int) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in letters.randomElement()! })
    }
}

/// Signatures of version 4.
enum SignatureV4 {
    static func signature(_ text: String, secret: String, scope: String) -> String {
        var key = Array("aliyun_v4\(secret)".utf8)
        for step in scope.split(separator: "/").map(String.init) + [text] {
            key = Array(HMAC<SHA256>.authenticationCode(for: Array(step.utf8), using: SymmetricKey(data: key)))
        }
        return hex(key)
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    /// Parses a date such as `20261121T105203Z`.
    static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return format.date(from: text)
    }
}
