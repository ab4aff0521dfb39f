public import FoundationEssentials

/// A signer of requests to OSS: with local credentials (``OSSCredentialSigner``), by delegation (``OSSRemoteSigner``),
/// or with a custom implementation.
///
/// The signer is called once for every attempt, with the date by the store's clock, so that no attempt has an outdated
/// date or replaced credentials.
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
    ///   - request: The request to sign.
    ///   - rules: The version and placement of the signature.
    ///   - date: The date by the store's clock.
    ///   - rejecting: The credentials that the store has just rejected, or `nil`. Different ones must be used.
    /// - Returns: The signed request.
    /// - Throws: The reason why the request can't be signed.
    func sign(
        _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> OSSSignedRequest
}

/// A signer that uses the secret of credentials from a provider.
///
/// ```swift
/// let signer = OSSCredentialSigner(.environment())
/// ```
public struct OSSCredentialSigner: ObjectStoreSigner {
    private let provider: CredentialProvider

    /// Creates a signer with a credential provider.
    public init(_ provider: CredentialProvider) {
        self.provider = provider
    }

    /// Gets credentials and signs a request. Costs two HMACs for version 1 and five for version 4, a few microseconds.
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
