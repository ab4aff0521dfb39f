public import WaybillCore

/// Computes the signature of request parameters that many backends require: a hash of the sorted and joined parameters
/// and a secret.
///
/// Waybill contains no hash functions. Pass one, for example of swift-crypto.
///
/// ```swift
/// // sign = MD5("appId=7&channel=kiosk&key=SECRET") in capitals
/// var signer = ParameterSigner { Insecure.MD5.hash(data: $0) }
/// signer.suffix = .secret("&key=\(secret)")
/// signer.output = .hexadecimalCapitals
///
/// // sign = Base64(HMAC-SHA256(KEY, "appId=7&channel=kiosk"))
/// var signer = ParameterSigner { HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: secret)) }
/// signer.output = .base64
///
/// configuration.interceptors.append(.signingForms(with: signer, field: "sign"))
/// ```
///
/// The result depends only on the parameters. If the server rejects a signature, compare ``canonicalText(of:)`` with
/// the text that the server hashes. Waybill never prints this text.
public struct ParameterSigner: Sendable {
    /// The order in which parameters are joined.
    public enum Order: Sendable, Hashable {
        /// By the UTF-8 bytes of the names, so upper case sorts before lower case. Parameters with the same name are
        /// sorted by their values.
        case byName
        /// The order of the request.
        case asGiven
    }

    /// The encoding of names and values before they are joined.
    public enum Encoding: Sendable, Hashable {
        /// The bytes that are sent.
        case none
        /// Percent-encodes all characters except letters, digits and `-._~` as `%XX` (RFC 3986).
        case percent
        /// URL-encoded form data (WHATWG URL, `application/x-www-form-urlencoded`): a space becomes `+`, and `*` and
        /// `~` are handled differently from ``percent``. Java's `URLEncoder` and PHP's `urlencode` do the same, except
        /// for `~` in PHP and `*` there.
        case webForm
    }

    /// The encoding of the hash.
    public enum Output: Sendable, Hashable {
        /// Lower-case hexadecimal: `0a1b`.
        case hexadecimal
        /// Upper-case hexadecimal: `0A1B`.
        case hexadecimalCapitals
        /// Base64 (RFC 4648 section 4), with padding.
        case base64
        /// Base64url (RFC 4648 section 5), without padding.
        case base64URL
    }

    /// The order of parameters.
    public var order = Order.byName
    /// The encoding of names and values.
    public var encoding = Encoding.none
    /// The text between a name and its value.
    public var equals = "="
    /// The text between two parameters.
    public var separator = "&"
    /// Whether parameters with an empty value are excluded.
    public var skipsEmpty = true
    /// Names that are not signed. The field of the signature itself is never signed.
    public var excluded: Set<String> = []
    /// The text before the joined parameters.
    public var prefix: Secret?
    /// The text after the joined parameters.
    public var suffix: Secret?
    /// The encoding of the hash.
    public var output = Output.hexadecimal
    private let digest: @Sendable ([UInt8]) -> [UInt8]

    /// Creates a signer with a hash function: an HMAC with its key, or a plain hash with the secret as ``prefix`` or
    /// ``suffix``.
    public init<Digest: Sequence<UInt8> & SendableMetatype>(
        digest: @escaping @Sendable (_ canonical: [UInt8]) -> Digest
    ) {
        self.digest = { Array(digest($0)) }
    }

    /// Returns the bytes that are hashed. They contain the secrets of ``prefix`` and ``suffix``, so do not log them.
    ///
    /// - Complexity: O(n log n), where n is the number of parameters.
    public func canonicalText(of parameters: [(name: String, value: String)]) -> [UInt8] {
        canonicalBytes(of: parameters.map { (Array($0.name.utf8), Array($0.value.utf8)) })
    }

    /// Returns the signature of parameters.
    public func signature(of parameters: [(name: String, value: String)]) -> String {
        written(digest(canonicalText(of: parameters)))
    }

    func signature(of parameters: [(name: [UInt8], value: [UInt8])]) -> String {
        written(digest(canonicalBytes(of: parameters)))
    }

    private func canonicalBytes(of parameters: [(name: [UInt8], value: [UInt8])]) -> [UInt8] {
        let left = Set(excluded.map { Array($0.utf8) })
        var signed = parameters.filter { !left.contains($0.name) && !(skipsEmpty && $0.value.isEmpty) }
        if order == .byName {
            signed.sort { first, second in
                if first.name != second.name { return first.name.lexicographicallyPrecedes(second.name) }
                return first.value.lexicographicallyPrecedes(second.value)
            }
        }
        let pairs = signed.map { encoded($0.name) + Array(equals.utf8) + encoded($0.value) }
        return Array((prefix?.value ?? "").utf8) + pairs.joined(separator: Array(separator.utf8))
            + Array((suffix?.value ?? "").utf8)
    }

    private func encoded(_ bytes: [UInt8]) -> [UInt8] {
        guard encoding != .none else { return bytes }
        return bytes.flatMap { byte -> [UInt8] in
            let isLetter = (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
            let plain = encoding == .percent ? "-._~" : "-._*"
            if isLetter || plain.utf8.contains(byte) { return [byte] }
            if encoding == .webForm, byte == 0x20 { return [UInt8(ascii: "+")] }
            return [UInt8(ascii: "%")] + Self.hexadecimal(byte, "0123456789ABCDEF")
        }
    }

    private func written(_ hash: [UInt8]) -> String {
        switch output {
        case .hexadecimal: String(decoding: hash.flatMap { Self.hexadecimal($0, "0123456789abcdef") }, as: UTF8.self)
        case .hexadecimalCapitals:
            String(decoding: hash.flatMap { Self.hexadecimal($0, "0123456789ABCDEF") }, as: UTF8.self)
        case .base64: Base64Text.standard(hash)
        case .base64URL: Base64Text.forURL(hash)
        }
    }

    private static func hexadecimal(_ byte: UInt8, _ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}

extension ParameterSigner: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The order and the encodings, without secrets.
    public var description: String { "signer \(order), \(encoding), \(output)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["signer": description]) }
}
