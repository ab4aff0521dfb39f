public import FoundationEssentials

/// The source of upload tokens.
///
/// ```swift
/// QiniuTokens.given(token)                                            // one from your server
/// QiniuTokens.keys(keys, bucket: "photos", lifetime: .seconds(3_600)) // a tool of your own
/// QiniuTokens.provider { request in                                   // asked for each file
///     try QiniuUploadToken(.secret(await backend.token(for: request.key)))
/// }
/// ```
///
/// A token is requested when an upload starts, not when it is queued, and again before the object is completed, because
/// that is when the store checks the deadline.
public struct QiniuTokens: Sendable {
    /// A request for a token.
    public struct Request: Sendable, Hashable {
        /// The key of the object; `nil` for a key that the store chooses.
        public var key: String?
        /// The size of the object in bytes; `nil` if unknown.
        public var size: Int64?
        /// The reason of the request.
        public var reason: Reason
    }

    /// The reason why a token is requested.
    public enum Reason: Sendable, Hashable, CaseIterable {
        /// An upload starts.
        case begin
        /// All parts are stored, and the object is about to be completed.
        case complete
        /// The store rejected the previous token (401), or it expired during the upload.
        case replace
    }

    private enum Source: Sendable {
        case given(QiniuUploadToken)
        case keys(QiniuKeys, @Sendable (Request, Date) throws(StoreError) -> QiniuPutPolicy)
        case provider(@Sendable (Request) async throws -> QiniuUploadToken)
    }

    private let source: Source

    /// Returns a source of one token, used for all uploads until it expires.
    public static func given(_ token: QiniuUploadToken) -> QiniuTokens { QiniuTokens(source: .given(token)) }

    /// Returns a source that signs tokens locally. Each token allows the one key of its upload, which it may overwrite.
    ///
    /// - Parameters:
    ///   - keys: The key pair. It should not be part of a program that is distributed to users.
    ///   - bucket: The bucket.
    ///   - lifetime: The validity of a token; one hour by default, as in Qiniu's SDKs.
    /// - Returns: A source of tokens.
    public static func keys(_ keys: QiniuKeys, bucket: String, lifetime: Duration = .seconds(3_600)) -> QiniuTokens {
        .keys(keys) { request, now in
            let scope: QiniuScope = request.key.map { .key($0, bucket: bucket) } ?? .bucket(bucket)
            let seconds = TimeInterval(lifetime.components.seconds)
            return QiniuPutPolicy(scope: scope, deadline: now.addingTimeInterval(seconds))
        }
    }

    /// Returns a source that signs tokens locally, with a policy for each upload.
    public static func keys(
        _ keys: QiniuKeys, policy: @escaping @Sendable (Request, Date) throws(StoreError) -> QiniuPutPolicy
    ) -> QiniuTokens {
        QiniuTokens(source: .keys(keys, policy))
    }

    /// Returns a source that calls a closure for each upload, and again before an object is completed. The closure can
    /// cache its token while that is valid.
    public static func provider(
        _ body: @escaping @Sendable (Request) async throws -> QiniuUploadToken
    ) -> QiniuTokens {
        QiniuTokens(source: .provider(body))
    }

    /// The time limit of a provider. A cancellation does not wait for it.
    private static let providerLimit = Duration.seconds(60)

    /// Whether a new request can return a different token.
    var isRenewable: Bool { if case .given = source { false } else { true } }

    /// The key pair, if tokens are signed locally.
    var keys: QiniuKeys? { if case .keys(let keys, _) = source { keys } else { nil } }

    /// Returns a token that covers the upload, as far as the client can check.
    ///
    /// - Throws: ``StoreError``, with ``StoreError/Code/uploadTokenUnavailable`` and a cause if the provider throws.
    func token(for request: Request, at now: Date) async throws(StoreError) -> QiniuUploadToken {
        let token: QiniuUploadToken
        switch source {
        case .given(let given): token = given
        case .keys(let keys, let policy): token = try keys.uploadToken(for: try policy(request, now), at: now)
        case .provider(let body):
            token = try await StoreTimeLimit.run(
                Self.providerLimit, clock: ContinuousClock(), failing: .uploadTokenUnavailable,
                "The provider of upload tokens"
            ) { try await body(request) }
        }
        try token.check(key: request.key, size: request.size, at: now)
        return token
    }
}
