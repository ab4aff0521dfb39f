import Crypto
import Foundation

/// Who may come into a store, and with what: the account's own keys, and temporary ones that were made from them.
public actor KeyRing {
    /// A pair of keys; temporary ones have a token and an end.
    public struct Keys: Sendable {
        /// Names the pair.
        public let id: String
        /// Signs.
        public let secret: String
        /// What temporary keys are shown with.
        public let token: String?
        /// When temporary keys end.
        public let end: Date?
    }

    /// The region that signatures have to name.
    public nonisolated let region = "cn-hangzhou"
    private var rings: [String: Keys] = [:]

    /// A ring with nobody on it.
    public init() {}

    /// Keys that last, as a server has them.
    public func account() -> Keys { add(id: "LTAI", token: nil, end: nil) }

    /// Keys that end, as a server gives them to an app: what AssumeRole of STS does.
    public func temporaryKeys(lasting seconds: TimeInterval) -> Keys {
        add(id: "STS.", token: Self.random(64), end: Date(timeIntervalSinceNow: seconds))
    }

    /// The pair of that name.
    func keys(_ id: String) -> Keys? { rings[id] }

    private func add(id: String, token: String?, end: Date?) -> Keys {
        let keys = Keys(id: id + Self.random(16), secret: Self.random(32), token: token, end: end)
        rings[keys.id] = keys
        return keys
    }

    private static func random(_ count: Int) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in letters.randomElement()! })
    }
}

/// The key chain of signatures of version 4.
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

    /// `20261121T105203Z`
    static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return format.date(from: text)
    }
}
