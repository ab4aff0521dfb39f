public import WaybillCore

/// Makes the signature that many backends want beside the parameters of a request: all of them in a fixed order, joined,
/// a secret added, and hashed.
///
/// Which hash is up to you, for Waybill brings none: hand in one of swift-crypto, or of whatever you have.
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
/// It is pure: the same parameters give the same text, ``canonicalText(of:)``, which is what to compare with the server's
/// when a signature is refused. Nothing of it is ever printed.
public struct ParameterSigner: Sendable {
    /// In which order the parameters are joined.
    public enum Order: Sendable, Hashable {
        /// By the bytes of the names as UTF-8, so capitals before small letters; those of one name by their values.
        case byName
        /// As they stand in the request.
        case asGiven
    }

    /// What names and values become before they are joined.
    public enum Encoding: Sendable, Hashable {
        /// The bytes that are sent.
        case none
        /// All but letters, digits and `-._~` as `%XX` (RFC 3986).
        case percent
        /// As a web form has it (WHATWG URL, `application/x-www-form-urlencoded`): a blank is `+`, and `*` and `~` differ from
        /// ``percent``. Java's `URLEncoder` and PHP's `urlencode`, but for `~` in PHP and `*` there, do the same.
        case webForm
    }

    /// How the hash is written.
    public enum Output: Sendable, Hashable {
        /// `0a1b`.
        case hexadecimal
        /// `0A1B`.
        case hexadecimalCapitals
        /// RFC 4648 section 4, padded.
        case base64
        /// RFC 4648 section 5, not padded.
        case base64URL
    }

    /// The order of parameters.
    public var order = Order.byName
    /// What names and values become.
    public var encoding = Encoding.none
    /// What stands between a name and its value.
    public var equals = "="
    /// What stands between one parameter and the next.
    public var separator = "&"
    /// Whether parameters with an empty value are left out.
    public var skipsEmpty = true
    /// Names that are not signed; the field of the signature itself never is.
    public var excluded: Set<String> = []
    /// What stands before the joined parameters.
    public var prefix: Secret?
    /// What stands behind them.
    public var suffix: Secret?
    /// How the hash is written.
    public var output = Output.hexadecimal
    private let digest: @Sendable ([UInt8]) -> [UInt8]

    /// A signer with this hash: an HMAC that has its key, or a plain hash with the secret as ``prefix`` or ``suffix``.
    public init<Digest: Sequence<UInt8> & SendableMetatype>(
        digest: @escaping @Sendable (_ canonical: [UInt8]) -> Digest
    ) {
        self.digest = { Array(digest($0)) }
    }

    /// The bytes that are hashed. They hold the secret of ``prefix`` and ``suffix``: compare, don't log.
    ///
    /// - Complexity: O(n log n) for n parameters.
    public func canonicalText(of parameters: [(name: String, value: String)]) -> [UInt8] {
        canonicalBytes(of: parameters.map { (Array($0.name.utf8), Array($0.value.utf8)) })
    }

    /// The signature.
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
    /// How it joins; no secret.
    public var description: String { "signer \(order), \(encoding), \(output)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["signer": description]) }
}
