public import Waybill
import WaybillCore

/// The object store accounts that uploads in an outbox refer to by name.
///
/// The credential of a form is a single secret string. A store account consists of more: two keys, possibly a token,
/// and a provider that renews them. The program that delivers therefore supplies the providers under the names in the
/// uploads:
///
/// ```swift
/// configuration.credentials = StoreAccounts(
///     oss: ["scans": .environment()], s3: ["backup": .aws()], qiniu: ["photos": .keys(keys, bucket: "photos")], others: table)
/// configuration.kinds = [DurableOSSUpload.self, DurableS3Upload.self, DurableQiniuUpload.self]
/// ```
///
/// Unknown names are resolved by `others`, whose secret must have the format of a token server: for OSS and S3 the JSON that
/// ``StoreCredentials/init(json:)`` parses, for Qiniu an upload token or JSON with `accessKey` and `secretKey`. Any
/// other ``/Waybill/NamedCredentials`` can be used without this class in the same way.
///
/// Deliveries with the same accounts share state: the offset of a store's clock, the regions of buckets, and the
/// request pace. Create a single instance for the lifetime of the program.
public final class StoreAccounts: NamedCredentials {
    private struct State: Sendable {
        var clocks: [String: StoreClock] = [:]
        var sharedClients: [QiniuAccountKey: QiniuClient] = [:]
    }

    /// A store whose accounts are pairs of keys.
    enum KeyStore {
        case oss
        case s3
    }

    private let oss: [String: CredentialProvider]
    private let s3: [String: CredentialProvider]
    private let qiniu: [String: QiniuTokens]
    fileprivate let others: any NamedCredentials
    private let state = Locked(State())

    /// Creates a set of accounts.
    ///
    /// - Parameters:
    ///   - oss: The credential providers for Aliyun OSS, by name.
    ///   - s3: The credential providers for stores of S3, by name.
    ///   - qiniu: The sources of upload tokens for Qiniu, by name.
    ///   - others: The resolver of all other names: credentials of forms, and accounts in text format.
    public init(
        oss: [String: CredentialProvider] = [:], s3: [String: CredentialProvider] = [:],
        qiniu: [String: QiniuTokens] = [:], others: any NamedCredentials = CredentialTable { _ in nil }
    ) {
        self.oss = oss
        self.s3 = s3
        self.qiniu = qiniu
        self.others = others
    }

    /// Returns the credential of a name from `others`. Store accounts are never returned: their secrets have no text
    /// format.
    public func credential(named name: String) async throws -> Secret? { try await others.credential(named: name) }

    func provider(named name: String, of store: KeyStore) -> CredentialProvider? {
        switch store {
        case .oss: oss[name]
        case .s3: s3[name]
        }
    }

    func qiniuTokens(named name: String) -> QiniuTokens? { qiniu[name] }

    /// Returns the shared clock of an endpoint.
    func clock(of endpoint: String, _ make: () -> StoreClock) -> StoreClock {
        state.withLock { state in
            if let clock = state.clocks[endpoint] { return clock }
            let clock = make()
            state.clocks[endpoint] = clock
            return clock
        }
    }

    /// Returns the shared client for a set of settings.
    func sharedClient(for key: QiniuAccountKey, _ make: () -> QiniuClient) -> QiniuClient {
        state.withLock { state in
            if let client = state.sharedClients[key] { return client }
            let client = make()
            // Bound the cache: programs normally use a handful of settings.
            if state.sharedClients.count >= Self.maximumSharedClients { state.sharedClients = [:] }
            state.sharedClients[key] = client
            return client
        }
    }

    private static let maximumSharedClients = 64
}

/// The key of clients that share their state.
struct QiniuAccountKey: Sendable, Hashable {
    var account: String
    var sending: QiniuDeliverySettings
    var isInParts: Bool
    /// The identity of the session. The client retains the session, so no other session can get the same identifier.
    var session: ObjectIdentifier
}

extension NamedCredentials {
    /// Returns the credential provider of an account of a store.
    func storeAccount(_ name: String, of store: StoreAccounts.KeyStore) -> CredentialProvider {
        if let known = (self as? StoreAccounts)?.provider(named: name, of: store) { return known }
        let texts = texts
        return CredentialProvider.federated {
            try StoreCredentials(json: Array(try await texts.text(of: name).value.utf8))
        }
    }

    /// Returns the token source of a Qiniu account.
    func qiniuAccount(_ name: String, bucket: String) async throws(StoreError) -> QiniuTokens {
        if let known = (self as? StoreAccounts)?.qiniuTokens(named: name) { return known }
        let text = try await text(of: name)
        guard text.value.utf8.first == UInt8(ascii: "{") else {
            // Resolve the name again for each token, so that an expired token is replaced.
            let texts = texts
            return .provider { _ in try QiniuUploadToken(try await texts.text(of: name)) }
        }
        let keys = try LenientJSONObject(Array(text.value.utf8), what: "Qiniu keys", failing: .credentialsMalformed)
        guard let accessKey = keys.text("accesskey", "ak"), let secretKey = keys.text("secretkey", "sk") else {
            throw StoreError(
                .credentialsMalformed,
                "The JSON of the account \(StoreError.shown(name)) has no access key or no secret key.")
        }
        return .keys(QiniuKeys(accessKey: accessKey, secretKey: .secret(secretKey)), bucket: bucket)
    }

    /// The resolver of text credentials. It is not the `StoreAccounts` instance: clients that it caches would retain
    /// it, which would be a reference cycle.
    private var texts: any NamedCredentials { (self as? StoreAccounts)?.others ?? self }

    private func text(of name: String) async throws(StoreError) -> Secret {
        do throws(UploadError) {
            return try await required(name)
        } catch {
            throw StoreError(.credentialsUnavailable, error.message, cause: error)
        }
    }
}

extension StoreAccounts: RedactedDescription {
    /// The names of the accounts.
    public var description: String {
        "accounts \((oss.keys.sorted() + s3.keys.sorted() + qiniu.keys.sorted()).map { StoreError.shown($0) }.joined(separator: ", "))"
    }
}
