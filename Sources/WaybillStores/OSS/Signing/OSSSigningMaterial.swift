public import FoundationEssentials
import HTTPTypes
public import WaybillCore

/// Who signs: all that a signature says about credentials, which is everything but the secret.
public struct OSSSigningIdentity: Sendable, Hashable {
    /// The AccessKey ID.
    public var accessKeyID: String
    /// The security token of temporary credentials.
    public var securityToken: Secret?

    /// Describes who signs.
    public init(accessKeyID: String, securityToken: Secret? = nil) {
        self.accessKeyID = accessKeyID
        self.securityToken = securityToken
    }
}

/// A request that waits for its signature: the text that has to be signed, and all that will be added to the request beside
/// the signature.
///
/// It is made without the secret, so the signature may come from anywhere: from ``signature(with:)``, or from a server that
/// is sent ``stringToSign`` and gives back the signature.
///
/// ```swift
/// let material = try OSSSigningMaterial(
///     request, rules: OSSSigningRules(.v4, region: "cn-hangzhou"), identity: credentials.identity, date: .now)
/// let signed = material.signed(with: material.signature(with: credentials.accessKeySecret))
/// ```
///
/// Pure: the same input gives the same text. It prints without query, token and text.
public struct OSSSigningMaterial: Sendable, Hashable {
    /// The request with everything that the signature covers: date, token and, in a URL, the time that it is good for.
    public let request: OSSRequestToSign
    /// How it is signed.
    public let rules: OSSSigningRules
    /// Who signs.
    public let identity: OSSSigningIdentity
    /// When.
    public let date: Date
    /// What is signed, byte for byte. It may hold a security token: compare, don't log.
    public let stringToSign: String
    /// What version 4 hashes into ``stringToSign``; `nil` with version 1.
    public let canonicalRequest: String?
    /// The names of further fields that are covered, as they stand in the request; empty with version 1.
    let additionalNames: [String]

    /// Makes ready for signing.
    ///
    /// A date or a token of an earlier attempt in the request is replaced.
    ///
    /// - Throws: ``StoreError/Code/invalidBucket``, ``StoreError/Code/invalidKey``, ``StoreError/Code/invalidRegion`` or
    ///   ``StoreError/Code/invalidExpiration``.
    public init(
        _ request: OSSRequestToSign, rules: OSSSigningRules, identity: OSSSigningIdentity, date: Date
    ) throws(StoreError) {
        try request.check()
        guard !identity.accessKeyID.isEmpty else {
            throw StoreError(
                .credentialsUnavailable, "the AccessKey ID is empty: check where the credentials come from")
        }
        let seconds = try rules.seconds(hasToken: identity.securityToken != nil)
        self.rules = rules
        self.identity = identity
        self.date = date
        switch rules.version {
        case .v1:
            let request = OSSSignatureV1.dated(request, identity: identity, date: date, seconds: seconds)
            self.request = request
            canonicalRequest = nil
            additionalNames = []
            stringToSign = OSSSignatureV1.stringToSign(
                request, date: OSSSignatureV1.dateText(of: request, date: date, seconds: seconds))
        case .v4:
            let scope = try OSSSignatureV4.Scope(rules, date: date)
            let names = OSSSignatureV4.additionalNames(rules, in: request)
            let request = OSSSignatureV4.dated(
                request, identity: identity, scope: scope, additional: names, seconds: seconds)
            self.request = request
            additionalNames = names
            let canonical = OSSSignatureV4.canonicalRequest(request, additional: names)
            canonicalRequest = canonical
            stringToSign = OSSSignatureV4.stringToSign(canonical, scope: scope)
        }
    }

    /// The signature by the secret: Base64 with version 1, hexadecimal digits with version 4.
    public func signature(with secret: Secret) -> String {
        switch rules.version {
        case .v1: OSSSignatureV1.signature(stringToSign, secret: secret)
        case .v4: OSSSignatureV4.signature(stringToSign, secret: secret, scope: scope)
        }
    }

    /// The request with its signature, ready to be sent.
    public func signed(with signature: String) -> OSSSignedRequest {
        var signed = request
        switch (rules.version, rules.placement) {
        case (.v1, .header):
            signed.headers[.authorization] = "OSS \(identity.accessKeyID):\(signature)"
        case (.v1, .query):
            signed.query.append(StoreQueryItem("Signature", signature))
        case (.v4, .header):
            let additional =
                additionalNames.isEmpty ? "" : ",AdditionalHeaders=\(additionalNames.joined(separator: ";"))"
            signed.headers[.authorization] =
                "\(OSSSignatureV4.algorithm) Credential=\(identity.accessKeyID)/\(scope.text)\(additional),"
                + "Signature=\(signature)"
        case (.v4, .query):
            signed.query.append(StoreQueryItem("x-oss-signature", signature))
        }
        return OSSSignedRequest(request: signed, stringToSign: stringToSign, canonicalRequest: canonicalRequest)
    }

    /// Day, region and product that a signature of version 4 is good for.
    var scope: OSSSignatureV4.Scope {
        OSSSignatureV4.Scope(date: date, region: rules.region ?? "", product: rules.product)
    }
}

extension OSSSigningMaterial: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Version and request.
    public var description: String { "\(rules.version) signature of \(request)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["material": description]) }
}
