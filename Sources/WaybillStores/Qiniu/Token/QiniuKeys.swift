import Crypto
public import FoundationEssentials
public import WaybillCore

/// The two keys of a Qiniu account. They belong to servers and to tools; a program that others hold gets tokens.
///
/// ```swift
/// let keys = QiniuKeys(accessKey: "…", secretKey: .secret(environment["QINIU_SECRET_KEY"]!))
/// ```
public struct QiniuKeys: Sendable, Hashable {
    /// Says whose the requests are. No secret.
    public var accessKey: String
    /// What tokens are signed with.
    public var secretKey: Secret

    /// Takes a pair of keys.
    public init(accessKey: String, secretKey: Secret) {
        self.accessKey = accessKey
        self.secretKey = secretKey
    }

    /// The token of some bytes: `AK:signature`. It goes with requests and URLs, not with uploads.
    ///
    /// Source: Qiniu, "Management credential"; HMAC-SHA1, RFC 4648 section 5 with padding.
    public func token(for bytes: some Sequence<UInt8>) -> Secret {
        .secret("\(accessKey):\(signature(of: Array(bytes)))")
    }

    /// The token that carries the bytes with it: `AK:signature:bytes`. Upload tokens are such tokens of a policy's JSON.
    public func token(carrying bytes: some Sequence<UInt8>) -> Secret {
        let text = URLSafeBase64.encode(Array(bytes))
        return .secret("\(accessKey):\(signature(of: Array(text.utf8))):\(text)")
    }

    private func signature(of bytes: [UInt8]) -> String {
        let key = SymmetricKey(data: Array(secretKey.value.utf8))
        return URLSafeBase64.encode(Array(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key)))
    }
}

extension QiniuKeys: CustomStringConvertible {
    /// The access key alone.
    public var description: String { "keys of \(accessKey)" }
}

extension QiniuKeys {
    /// A URL of an object in a private bucket, good until a time.
    ///
    /// ```swift
    /// let url = keys.privateURL("https://img.example/cards/front.jpg?imageView2/2/w/200", until: .now + 3_600)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL, percent-encoded, with the query that names its style, if any. Its fragment is left out.
    ///   - deadline: Until when it is good; whole seconds.
    /// - Returns: The URL with `e` and `token` at the end of its query. Everyone who has the URL can read the object.
    public func privateURL(_ url: String, until deadline: Date) -> Secret {
        let whole = url.prefix { $0 != "#" }
        let mark = whole.contains("?") ? "&" : "?"
        let seconds = Int64(min(max(deadline.timeIntervalSince1970, 0), 4_294_967_295).rounded(.down))
        let signed = "\(whole)\(mark)e=\(seconds)"
        return .secret("\(signed)&token=\(token(for: signed.utf8).value)")
    }
}
