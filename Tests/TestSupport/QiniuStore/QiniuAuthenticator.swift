internal import Crypto
internal import FoundationEssentials

/// The members of a put policy that a ``QiniuStore`` supports.
struct QiniuStorePolicy: Decodable, Sendable {
    var scope: String
    var deadline: Int
    var isPrefixalScope: Int?
    var insertOnly: Int?
    var saveKey: String?
    var forceSaveKey: Bool?
    var fsizeMin: Int?
    var fsizeLimit: Int?
    var mimeLimit: String?
    var returnBody: String?
    var callbackUrl: String?
    var callbackBody: String?

    var bucket: String { String(scope.prefix { $0 != ":" }) }
    /// The key, or the prefix of the keys, that may be written.
    var scopeKey: [UInt8]? {
        scope.utf8.firstIndex(of: UInt8(ascii: ":")).map { Array(scope.utf8[scope.utf8.index(after: $0)...]) }
    }
}

/// The authorization of a ``QiniuStore``, computed from the published rules. No code is shared with the code under
/// test.
struct QiniuAuthenticator: Sendable {
    let settings: QiniuStoreSettings

    /// Returns the policy of a token that is currently valid.
    ///
    /// - Throws: ``QiniuErrorResponse``.
    func policy(_ token: String) throws -> QiniuStorePolicy {
        let pieces = token.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard pieces.count == 3, let secret = settings.accounts[pieces[0]] else { throw QiniuErrorResponse.badToken }
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(pieces[2].utf8), using: SymmetricKey(data: Array(secret.utf8)))
        guard pieces[1] == QiniuText.base64(Array(code)), let json = QiniuText.bytes(pieces[2]),
            let policy = try? JSONDecoder().decode(QiniuStorePolicy.self, from: Data(json))
        else { throw QiniuErrorResponse.badToken }
        guard policy.deadline > settings.now() else { throw QiniuErrorResponse.expiredToken }
        guard settings.buckets?.contains(policy.bucket) != false else {
            throw QiniuErrorResponse(631, "no such bucket")
        }
        return policy
    }

    /// Returns the token of a request that is not a form.
    func token(of request: RecordedRequest) throws -> String {
        guard let words = request.value(of: "Authorization"), words.hasPrefix("UpToken ") else {
            throw QiniuErrorResponse.badToken
        }
        return String(words.dropFirst("UpToken ".count))
    }

    /// Checks the credential of a management request (version 2).
    ///
    /// - Throws: ``QiniuErrorResponse``.
    func checkManagement(_ request: RecordedRequest) throws {
        guard let words = request.value(of: "Authorization"), words.hasPrefix("Qiniu ") else {
            throw QiniuErrorResponse.badToken
        }
        let pieces = words.dropFirst("Qiniu ".count).split(separator: ":").map(String.init)
        guard pieces.count == 2, let secret = settings.accounts[pieces[0]] else { throw QiniuErrorResponse.badToken }
        var text = "\(request.method) \(request.target)\nHost: \(request.value(of: "Host") ?? "")"
        if let type = request.value(of: "Content-Type") { text += "\nContent-Type: \(type)" }
        text += "\n\n"
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8)))
        guard pieces[1] == QiniuText.base64(Array(code)) else { throw QiniuErrorResponse.badToken }
    }

    /// Checks whether a policy permits writing a key.
    func check(_ key: [UInt8]?, _ policy: QiniuStorePolicy) throws {
        guard let scope = policy.scopeKey, let key, policy.forceSaveKey != true else { return }
        let fits = (policy.isPrefixalScope ?? 0) == 0 ? key == scope : key.starts(with: scope)
        guard fits else { throw QiniuErrorResponse(403, "key doesn't match scope") }
        guard key.count < 750 else { throw QiniuErrorResponse(400, "key is too long") }
    }
}
