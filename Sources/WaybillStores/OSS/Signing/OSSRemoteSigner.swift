public import FoundationEssentials

/// Signs by asking somebody who has the secret, such as your own server: this program never sees it.
///
/// ```swift
/// let signer = OSSRemoteSigner(accessKeyID: "LTAI…") { material in
///     try await server.signature(of: material.stringToSign, version: material.rules.version)
/// }
/// ```
///
/// The closure gets everything that the signature is about (``OSSSigningMaterial/request``, rules, date, scope) and gives the
/// signature: Base64 with version 1, hexadecimal digits with version 4. A whole value of `Authorization`, as the signers of
/// AliyunOSSiOS give it (`OSS id:signature`), is understood too. It is called for every attempt and for many at once.
public struct OSSRemoteSigner: ObjectStoreSigner {
    private let identity: @Sendable (Date) async throws -> OSSSigningIdentity
    private let signature: @Sendable (OSSSigningMaterial) async throws -> String
    private let limit: Duration
    private let clock: any Clock<Duration>

    /// A signer for one AccessKey.
    ///
    /// - Parameters:
    ///   - accessKeyID: Whose signature it is.
    ///   - limit: How long a signature may take; 30 s by default.
    ///   - clock: What that is measured with.
    ///   - signature: Gets a signature.
    public init(
        accessKeyID: String, limit: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
        signature: @escaping @Sendable (OSSSigningMaterial) async throws -> String
    ) {
        self.init(
            limit: limit, clock: clock, identity: { _ in OSSSigningIdentity(accessKeyID: accessKeyID) },
            signature: signature)
    }

    /// A signer whose AccessKey ID and security token change.
    ///
    /// - Parameters:
    ///   - limit: How long identity and signature together may take; 30 s by default.
    ///   - clock: What that is measured with.
    ///   - identity: Says who signs at a date; asked for every attempt, so it should keep what it knows.
    ///   - signature: Gets a signature.
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

    /// Asks for the signature.
    public func sign(
        _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
    ) async throws(StoreError) -> OSSSignedRequest {
        let (identity, signature) = (identity, signature)
        return try await StoreTimeLimit.run(
            limit, clock: clock, failing: .signingFailed, "the remote signer",
            { () async throws -> OSSSignedRequest in
                let material = try OSSSigningMaterial(
                    request, rules: rules, identity: try await identity(date), date: date)
                return material.signed(with: try Self.signature(in: try await signature(material), for: material))
            })
    }

    /// The signature alone, whatever came around it, and checked: a page of a proxy must not go out as a header field.
    static func signature(in answer: String, for material: OSSSigningMaterial) throws(StoreError) -> String {
        var text = OSSRequestToSign.trimmed(answer)
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
            let form = material.rules.version == .v1 ? "28 characters of Base64" : "64 small hexadecimal digits"
            throw StoreError(
                .signingFailed,
                "the remote signer gave no signature of version \(material.rules.version == .v1 ? 1 : 4): \(form) are "
                    + "expected, and \(answer.utf8.count) bytes came")
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
