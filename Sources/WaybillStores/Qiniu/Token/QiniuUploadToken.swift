public import FoundationEssentials
public import WaybillCore

/// A token that authorizes uploads: `AK:signature:policy`. It is secret until it expires.
///
/// The token contains its policy, so that an upload that the store would reject at its end is rejected locally before
/// it starts.
///
/// ```swift
/// let token = try QiniuUploadToken(.secret(text))
/// print(token.scope.bucket, token.deadline)
/// ```
public struct QiniuUploadToken: Sendable, Hashable {
    /// The token.
    public let text: Secret
    /// The access key of the account. It is not secret.
    public let accessKey: String
    /// The objects that can be written.
    public let scope: QiniuScope
    /// The date by which an upload must be complete.
    public let deadline: Date
    /// The minimum size in bytes, if there is such a limit.
    public let fileSizeMinimum: Int64?
    /// The maximum size in bytes, if there is such a limit.
    public let fileSizeLimit: Int64?
    /// Whether an upload has effects besides storing the object: a callback, or processing. A repeated upload is then
    /// not harmless.
    public let hasSideEffects: Bool
    /// Whether the response has Qiniu's own hash and key, and is not set by the policy or a callback.
    public let hasStandardResponse: Bool
    /// Whether an existing object is kept.
    public let isInsertOnly: Bool
    let forcesKey: Bool

    /// Parses a token that was created elsewhere. Only the store can verify its signature.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidUploadToken``; the message contains no part of the token.
    public init(_ text: Secret) throws(StoreError) {
        let pieces = text.value.split(separator: ":", omittingEmptySubsequences: false)
        guard pieces.count == 3, pieces.allSatisfy({ !$0.isEmpty }), text.value.utf8.allSatisfy({ (33...126) ~= $0 })
        else {
            throw StoreError(
                .invalidUploadToken,
                "The string is not an upload token, which consists of three parts separated by colons.")
        }
        guard let bytes = URLSafeBase64.decode(pieces[2]),
            let policy = try? JSONDecoder().decode(Policy.self, from: Data(bytes))
        else {
            throw StoreError(
                .invalidUploadToken, "The third part of the upload token is not a policy with scope and deadline.")
        }
        self.text = text
        accessKey = String(pieces[0])
        isInsertOnly = (policy.insertOnly ?? 0) != 0
        scope = QiniuScope(
            text: policy.scope, isPrefix: (policy.isPrefixalScope ?? 0) != 0, isInsertOnly: isInsertOnly)
        deadline = Date(timeIntervalSince1970: policy.deadline)
        fileSizeMinimum = policy.fsizeMin
        fileSizeLimit = policy.fsizeLimit.flatMap { $0 > 0 ? $0 : nil }
        let hasCallback = !(policy.callbackUrl ?? "").isEmpty
        hasSideEffects =
            hasCallback || !(policy.persistentOps ?? "").isEmpty
            || !(policy.persistentWorkflowTemplateID ?? "").isEmpty
        hasStandardResponse =
            !hasCallback && (policy.returnBody ?? "").isEmpty && (policy.returnUrl ?? "").isEmpty
        forcesKey = policy.forceSaveKey ?? false
        if let problem = QiniuName.problem(ofBucket: scope.bucket) {
            throw StoreError(.invalidUploadToken, "The scope of the upload token is invalid. \(problem)")
        }
    }

    /// The members of a policy that matter to an upload.
    private struct Policy: Decodable {
        var scope: String
        var deadline: Double
        var isPrefixalScope: Int?
        var insertOnly: Int?
        var fsizeMin: Int64?
        var fsizeLimit: Int64?
        var callbackUrl: String?
        var returnUrl: String?
        var returnBody: String?
        var persistentOps: String?
        var persistentWorkflowTemplateID: String?
        var forceSaveKey: Bool?
    }
}

extension QiniuUploadToken {
    /// Throws if the token does not cover an upload, as far as the client can check.
    ///
    /// - Parameters:
    ///   - key: The key of the object, or `nil` for a key that the store chooses.
    ///   - size: The size of the object in bytes; `nil` if unknown.
    ///   - now: The present date.
    /// - Throws: ``StoreError``: ``StoreError/Code/uploadTokenExpired``, ``StoreError/Code/uploadTokenDoesNotCover``,
    ///   or ``StoreError/Code/sizeNotAllowed``.
    public func check(key: String?, size: Int64?, at now: Date) throws(StoreError) {
        guard deadline > now else {
            throw StoreError(
                .uploadTokenExpired,
                "The upload token has expired. Get a new one with a deadline after the end of the upload.")
        }
        guard forcesKey || scope.covers(key) else {
            throw StoreError(
                .uploadTokenDoesNotCover,
                "The upload token does not cover this key. Request a token with the right scope.")
        }
        guard let size else { return }
        if let most = fileSizeLimit, size > most {
            throw StoreError(
                .sizeNotAllowed,
                "The object has \(size) bytes, more than the \(most) that the upload token allows (fsizeLimit).")
        }
        if let least = fileSizeMinimum, size < least {
            throw StoreError(
                .sizeNotAllowed,
                "The object has \(size) bytes, less than the \(least) that the upload token requires (fsizeMin).")
        }
    }
}

extension QiniuUploadToken: RedactedDescription {
    /// The access key, bucket and deadline; never the token.
    public var description: String {
        "upload token of \(accessKey) for \(scope.bucket) until \(deadline) \(Secret.placeholder)"
    }
}

extension QiniuKeys {
    /// Creates an upload token.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidPutPolicy`` if the policy is contradictory or its
    ///   deadline has passed.
    public func uploadToken(for policy: QiniuPutPolicy, at now: Date = .now) throws(StoreError) -> QiniuUploadToken {
        try QiniuUploadToken(token(carrying: try policy.json(at: now).utf8))
    }
}
