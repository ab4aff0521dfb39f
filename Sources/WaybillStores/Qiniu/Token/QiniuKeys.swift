import Crypto
public import FoundationEssentials
public import WaybillCore

/// The key pair of a Qiniu account, for servers and tools. A program that is distributed to users should receive tokens
/// instead.
///
/// ```swift
/// let keys = QiniuKeys(accessKey: "…", secretKey: .secret(environment["QINIU_SECRET_KEY"]!))
/// ```
public struct QiniuKeys: Sendable, Hashable {
    /// The access key, which identifies the account. It is not secret.
    public var accessKey: String
    /// The key that signs tokens.
    public var secretKey: Secret

    /// Creates a key pair.
    public init(accessKey: String, secretKey: Secret) {
        self.accessKey = accessKey
        self.secretKey = secretKey
    }

    /// Returns the token of a sequence of bytes: `AK:signature`. It authorizes requests and URLs, not uploads.
    ///
    /// Source: Qiniu, "Management credential"; HMAC-SHA1, RFC 4648 section 5 with padding.
    public func token(for bytes: some Sequence<UInt8>) -> Secret {
        .secret("\(accessKey):\(signature(of: Array(bytes)))")
    }

    /// Returns the token of a management request without a body. Version 2, which accounts of an organization need.
    ///
    /// Source: Qiniu, "Management credential".
    func managementToken(_ method: String, _ path: String, host: String) -> Secret {
        token(for: "\(method) \(path)\nHost: \(host)\n\n".utf8)
    }

    /// Returns a token that contains the bytes: `AK:signature:bytes`. An upload token contains the JSON of a policy.
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
    /// A description with the access key only.
    public var description: String { "keys of \(accessKey)" }
}

extension QiniuKeys {
    /// Returns the URL of an object in a private bucket, valid until a deadline.
    ///
    /// ```swift
    /// let url = keys.privateURL("https://img.example/cards/front.jpg?imageView2/2/w/200", until: .now + 3_600)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The percent-encoded URL, including a query that selects a style, if any. Its fragment is discarded.
    ///   - deadline: The date until which the URL is valid, in whole seconds.
    /// - Returns: The URL with `e` and `token` at the end of its query. Anyone who has the URL can read the object.
    public func privateURL(_ url: String, until deadline: Date) -> Secret {
        let whole = url.prefix { $0 != "#" }
        let mark = whole.contains("?") ? "&" : "?"
        let seconds = Int64(min(max(deadline.timeIntervalSince1970, 0), 4_294_967_295).rounded(.down))
        let signed = "\(whole)\(mark)e=\(seconds)"
        return .secret("\(signed)&token=\(token(for: signed.utf8).value)")
    }
}
