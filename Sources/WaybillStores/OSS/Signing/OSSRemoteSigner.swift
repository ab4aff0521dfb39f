public import FoundationEssentials

/// A signer that delegates to another party that has the secret, such as your server. The secret never enters this
/// process.
///
/// ```swift
/// let signer = OSSRemoteSigner(accessKeyID: "LTAI…") { material in
///     try await server.signature(of: material.stringToSign, version: material.rules.version)
/// }
/// ```
///
/// The closure receives all inputs of the signature (``OSSSigningMaterial/request``, rules, date, scope) and returns
/// the signature: Base64 for version 1, hexadecimal digits for version 4. It can also return a complete `Authorization`
/// value, like the signers of AliyunOSSiOS (`OSS id:signature`). It is called for every attempt, also concurrently.
public struct OSSRemoteSigner: ObjectStoreSigner {
    private let identity: @Sendable (Date) async throws -> OSSSigningIdentity
    private let signature: @Sendable (OSSSigningMaterial) async throws -> String
    private let limit: Duration
    private let clock: any Clock<Duration>

    /// Creates a signer for one AccessKey.
    ///
    /// - Parameters:
    ///   - accessKeyID: The ID of the AccessKey that signs.
    ///   - limit: The time limit of a signature; 30 s by default.
    ///   - clock: The clock that measures the limit.
    ///   - signature: Returns a signature.
    public init(
        accessKeyID: String, limit: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
        signature: @escaping @Sendable (OSSSigningMaterial) async throws -> String
    ) {
        self.init(
            limit: limit, clock: clock, identity: { _ in OSSSigningIdentity(accessKeyID: accessKeyID) },
            signature: signature)
    }

    /// Creates a signer whose AccessKey ID and security token can change.
    ///
    /// - Parameters:
    ///   - limit: The time limit of identity and signature together; 30 s by default.
    ///   - clock: The clock that measures the limit.
    ///   - identity: Returns the signing identity at a date. It is called for every attempt, so it should cache its
    ///     result.
    ///   - signature: Returns a signature.
    public init(
        limit: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
        identity: @escaping @Sendable (Date) async throws -> OSSSigningIdentity,
        signature: @escaping @Sendable (OSSSigningMaterial) async throws -> String
    ) {
        self.identity = identity
        self.signature = signature
        self.limit = limit
        self.clock = clock
    }

    /// Signs a request with the signature from the closure.
    public func sign(
        _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> OSSSignedRequest {
        let (identity, signature) = (identity, signature)
        return try await StoreTimeLimit.run(
            limit, clock: clock, failing: .signingFailed, "The remote signer",
            { () async throws -> OSSSignedRequest in
                let material = try OSSSigningMaterial(
                    request, rules: rules, identity: try await identity(date), date: date)
                return material.signed(with: try Self.signature(in: try await signature(material), for: material))
            })
    }

    /// Extracts and validates the signature in a response, so that the error page of a proxy is never sent as a header
    /// field.
    static func signature(in response: String, for material: OSSSigningMaterial) throws(StoreError) -> String {
        var text = response.withoutOuterSpaces
        let prefix = "OSS \(material.identity.accessKeyID):"
        if text.utf8.starts(with: prefix.utf8) { text = String(text.utf8.dropFirst(prefix.utf8.count)) ?? "" }
        if text.utf8.starts(with: OSSSignatureV4.algorithm.utf8),
            let mark = text.utf8.split(separator: UInt8(ascii: ",")).last, mark.starts(with: "Signature=".utf8)
        {
            text = String(mark.dropFirst("Signature=".utf8.count)) ?? ""
        }
        let isRight =
            switch material.rules.version {
            case .v1: text.utf8.count == 28 && text.utf8.allSatisfy { isBase64($0) }
            case .v4: text.utf8.count == 64 && text.utf8.allSatisfy { isHexadecimal($0) }
            }
        guard isRight else {
            let form = material.rules.version == .v1 ? "28 characters of Base64" : "64 lower-case hexadecimal digits"
            throw StoreError(
                .signingFailed,
                "The remote signer returned no valid signature of version \(material.rules.version == .v1 ? 1 : 4): "
                    + "expected \(form), got \(response.utf8.count) bytes.")
        }
        return text
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "+/=".utf8.contains(byte)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
