public import Waybill
import WaybillCore

/// The accounts with object stores that uploads in an outbox only name.
///
/// A credential of a form is one secret text. An account of a store is more than that: two keys, perhaps a token, and something
/// that renews them. So the program that delivers hands in who has them, each under the name that uploads were given:
///
/// ```swift
/// configuration.credentials = StoreAccounts(
///     oss: ["scans": .environment()], qiniu: ["photos": .keys(keys, bucket: "photos")], others: table)
/// configuration.kinds = [DurableOSSUpload.self, DurableQiniuUpload.self]
/// ```
///
/// A name that is not among them is asked of `others`, and its text has to be what token servers give: for OSS the JSON that
/// ``StoreCredentials/init(json:)`` reads, for Qiniu an upload token or JSON with `accessKey` and `secretKey`. Any other
/// ``/Waybill/NamedCredentials`` can so be used by itself.
///
/// What deliveries learn is shared by all that use the same accounts: how far a store's clock is ahead, where buckets are, and
/// how fast may be asked. So make one for the life of the program.
public final class StoreAccounts: NamedCredentials {
    private struct State: Sendable {
        var clocks: [String: StoreClock] = [:]
        var homes: [QiniuHome: QiniuClient] = [:]
    }

    private let oss: [String: any CredentialProvider]
    private let qiniu: [String: QiniuTokens]
    fileprivate let others: any NamedCredentials
    private let state = Locked(State())

    /// Accounts by their names.
    ///
    /// - Parameters:
    ///   - oss: Who has credentials of Aliyun OSS.
    ///   - qiniu: Who has upload tokens of Qiniu, or the keys to make them.
    ///   - others: Who knows all other names: credentials of forms, and accounts that are given as text.
    public init(
        oss: [String: any CredentialProvider] = [:], qiniu: [String: QiniuTokens] = [:],
        others: any NamedCredentials = NoCredentials()
    ) {
        self.oss = oss
        self.qiniu = qiniu
        self.others = others
    }

    /// The credential of a name, as `others` have it. Accounts are none: their secrets are never given as a text.
    public func credential(named name: String) async throws -> Secret? { try await others.credential(named: name) }

    func ossProvider(named name: String) -> (any CredentialProvider)? { oss[name] }

    func qiniuTokens(named name: String) -> QiniuTokens? { qiniu[name] }

    /// The clock of an endpoint, one for all.
    func clock(of endpoint: String, _ make: () -> StoreClock) -> StoreClock {
        state.withLock { state in
            if let clock = state.clocks[endpoint] { return clock }
            let clock = make()
            state.clocks[endpoint] = clock
            return clock
        }
    }

    /// A client whose knowledge is shared, one for all that are set up alike.
    func home(_ place: QiniuHome, _ make: () -> QiniuClient) -> QiniuClient {
        state.withLock { state in
            if let home = state.homes[place] { return home }
            let home = make()
            // Programs have a handful of settings; one that makes ever new ones is no reason to remember them all.
            if state.homes.count >= Self.mostHomes { state.homes = [:] }
            state.homes[place] = home
            return home
        }
    }

    private static let mostHomes = 64
}

/// What clients have in common that share what they know.
struct QiniuHome: Sendable, Hashable {
    var account: String
    var sending: QiniuSending
    var isInParts: Bool
    /// It is kept by the client, so no other session comes to lie at its place.
    var session: ObjectIdentifier
}

extension NamedCredentials {
    /// Who has the credentials of an account with OSS.
    func ossAccount(_ name: String) -> any CredentialProvider {
        if let known = (self as? StoreAccounts)?.ossProvider(named: name) { return known }
        let texts = texts
        return FederatedCredentials { try StoreCredentials(json: Array(try await texts.text(of: name).value.utf8)) }
    }

    /// Who has the tokens of an account with Qiniu.
    func qiniuAccount(_ name: String, bucket: String) async throws(StoreError) -> QiniuTokens {
        if let known = (self as? StoreAccounts)?.qiniuTokens(named: name) { return known }
        let text = try await text(of: name)
        guard text.value.utf8.first == UInt8(ascii: "{") else {
            // Asked again for each token: a token that runs out is replaced by whoever gives them.
            let texts = texts
            return .provider { _ in try QiniuUploadToken(try await texts.text(of: name)) }
        }
        let keys = try LooseObject(Array(text.value.utf8), what: "keys of Qiniu", failing: .credentialsMalformed)
        guard let accessKey = keys.text("accesskey", "ak"), let secretKey = keys.text("secretkey", "sk") else {
            throw StoreError(
                .credentialsMalformed,
                "the JSON of the account \(StoreError.shown(name)) has no access key and secret key")
        }
        return .keys(QiniuKeys(accessKey: accessKey, secretKey: .secret(secretKey)), bucket: bucket)
    }

    /// Who gives the texts. Not the accounts: a client that they remember would hold them, and nobody would ever let go.
    private var texts: any NamedCredentials { (self as? StoreAccounts)?.others ?? self }

    private func text(of name: String) async throws(StoreError) -> Secret {
        do throws(UploadError) {
            return try await required(name)
        } catch {
            throw StoreError(.credentialsUnavailable, error.message, cause: error)
        }
    }
}

extension StoreAccounts: CustomStringConvertible, CustomReflectable {
    /// The names.
    public var description: String {
        "accounts \((oss.keys.sorted() + qiniu.keys.sorted()).map { StoreError.shown($0) }.joined(separator: ", "))"
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["accounts": description]) }
}
