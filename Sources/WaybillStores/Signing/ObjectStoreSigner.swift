public import FoundationEssentials

/// Somebody who signs requests to OSS: with credentials that are at hand (``OSSCredentialSigner``), by asking somebody else
/// (``OSSRemoteSigner``), or in a way of your own.
///
/// It is asked once for every attempt, with the date as the store has it, so that no attempt goes out with a stale date or
/// with credentials that have been replaced.
///
/// ```swift
/// struct HardwareSigner: ObjectStoreSigner {
///     func sign(
///         _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
///     ) async throws(StoreError) -> OSSSignedRequest {
///         let identity = OSSSigningIdentity(accessKeyID: module.accessKeyID)
///         let material = try OSSSigningMaterial(request, rules: rules, identity: identity, date: date)
///         return material.signed(with: try await module.sign(material.stringToSign))
///     }
/// }
/// ```
public protocol ObjectStoreSigner: Sendable {
    /// Signs a request.
    ///
    /// - Parameters:
    ///   - request: What is signed.
    ///   - rules: Which signature, and where it stands.
    ///   - date: When, by the store's clock.
    ///   - rejecting: The credentials that the store has just refused, if it did: others are wanted.
    /// - Returns: What is to be sent.
    /// - Throws: Why there is no signature.
    func sign(
        _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> OSSSignedRequest
}

/// Signs with the secret of credentials, wherever they come from.
///
/// ```swift
/// let signer = OSSCredentialSigner(.environment())
/// ```
public struct OSSCredentialSigner: ObjectStoreSigner {
    private let provider: any CredentialProvider

    /// A signer with these credentials.
    public init(_ provider: any CredentialProvider) {
        self.provider = provider
    }

    /// Asks for credentials and signs. Costs two HMACs with version 1 and five with version 4, some microseconds.
    public func sign(
        _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> OSSSignedRequest {
        let credentials = try await provider.credentials(at: date, rejecting: rejecting)
        let material = try OSSSigningMaterial(request, rules: rules, identity: credentials.identity, date: date)
        var signed = material.signed(with: material.signature(with: credentials.accessKeySecret))
        signed.credentials = credentials
        return signed
    }
}
