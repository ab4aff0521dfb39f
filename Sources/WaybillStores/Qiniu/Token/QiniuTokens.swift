public import FoundationEssentials

/// Where upload tokens come from.
///
/// ```swift
/// QiniuTokens.given(token)                                            // one from your server
/// QiniuTokens.keys(keys, bucket: "photos", lifetime: .seconds(3_600)) // a tool of your own
/// QiniuTokens.provider { request in                                   // asked for each file
///     try QiniuUploadToken(.secret(await backend.token(for: request.key)))
/// }
/// ```
///
/// A token is asked for when it is an upload's turn, not when it is put in line, and once more before the object is completed:
/// the store looks at the deadline then.
public struct QiniuTokens: Sendable {
    /// What a token is wanted for.
    public struct Request: Sendable, Hashable {
        /// The key of the object; `nil` for one that the store makes.
        public var key: String?
        /// The bytes of the object; `nil` while nobody knows.
        public var size: Int64?
        /// Why it is asked for.
        public var reason: Reason
    }

    /// Why a token is asked for.
    public enum Reason: Sendable, Hashable, CaseIterable {
        /// An upload begins.
        case begin
        /// All parts are there, and the object is to be made.
        case complete
        /// The store refused the last one (401), or it ran out on the way.
        case replace
    }

    private enum Source: Sendable {
        case given(QiniuUploadToken)
        case keys(QiniuKeys, @Sendable (Request, Date) throws(StoreError) -> QiniuPutPolicy)
        case provider(@Sendable (Request) async throws -> QiniuUploadToken)
    }

    private let source: Source

    /// One token for everything, for as long as it is good.
    public static func given(_ token: QiniuUploadToken) -> QiniuTokens { QiniuTokens(source: .given(token)) }

    /// Tokens made here, each for the one key of its upload, which it may overwrite.
    ///
    /// - Parameters:
    ///   - keys: The keys. They should not be in a program that others hold.
    ///   - bucket: The bucket.
    ///   - lifetime: How long a token is good. An hour by default, as with Qiniu's own packages.
    /// - Returns: Where a client gets its tokens from.
    public static func keys(_ keys: QiniuKeys, bucket: String, lifetime: Duration = .seconds(3_600)) -> QiniuTokens {
        .keys(keys) { request, now in
            let scope: QiniuScope = request.key.map { .key($0, bucket: bucket) } ?? .bucket(bucket)
            let seconds = TimeInterval(lifetime.components.seconds)
            return QiniuPutPolicy(scope: scope, deadline: now.addingTimeInterval(seconds))
        }
    }

    /// Tokens made here, of a policy for each upload.
    public static func keys(
        _ keys: QiniuKeys, policy: @escaping @Sendable (Request, Date) throws(StoreError) -> QiniuPutPolicy
    ) -> QiniuTokens {
        QiniuTokens(source: .keys(keys, policy))
    }

    /// Tokens from somewhere else. Asked for each upload, and again before an object is completed; a closure that keeps its
    /// token for as long as it is good is welcome to.
    public static func provider(
        _ body: @escaping @Sendable (Request) async throws -> QiniuUploadToken
    ) -> QiniuTokens {
        QiniuTokens(source: .provider(body))
    }

    /// How long a provider may take. A cancel does not wait for it.
    private static let providerLimit = Duration.seconds(60)

    /// Whether asking again may bring another one.
    var isRenewable: Bool { if case .given = source { false } else { true } }

    /// The keys, where tokens are made here.
    var keys: QiniuKeys? { if case .keys(let keys, _) = source { keys } else { nil } }

    /// A token that is good for the upload as far as can be told.
    ///
    /// - Throws: ``StoreError``; with ``StoreError/Code/uploadTokenUnavailable`` and the cause when the provider threw.
    func token(for request: Request, at now: Date) async throws(StoreError) -> QiniuUploadToken {
        let token: QiniuUploadToken
        switch source {
        case .given(let given): token = given
        case .keys(let keys, let policy): token = try keys.uploadToken(for: try policy(request, now), at: now)
        case .provider(let body):
            token = try await StoreTimeLimit.run(
                Self.providerLimit, clock: ContinuousClock(), failing: .uploadTokenUnavailable,
                "the provider of upload tokens"
            ) { try await body(request) }
        }
        try token.check(key: request.key, size: request.size, at: now)
        return token
    }
}
