public import FoundationEssentials

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
