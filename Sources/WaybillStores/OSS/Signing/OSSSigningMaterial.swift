public import FoundationEssentials
import HTTPTypes
public import WaybillCore

/// The signing identity: all of the credentials that a signature refers to, without the secret.
public struct OSSSigningIdentity: Sendable, Hashable {
    /// The AccessKey ID.
    public var accessKeyID: String
    /// The security token of temporary credentials.
    public var securityToken: Secret?

    /// Creates an identity.
    public init(accessKeyID: String, securityToken: Secret? = nil) {
        self.accessKeyID = accessKeyID
        self.securityToken = securityToken
    }
}

/// The input of a signature: the string to sign, and everything besides the signature that is added to the request.
///
/// It is created without the secret, so the signature can come from anywhere: from ``signature(with:)``, or from a
/// server that receives ``stringToSign`` and returns the signature.
///
/// ```swift
/// let material = try OSSSigningMaterial(
///     request, rules: OSSSigningRules(.v4, region: "cn-hangzhou"), identity: credentials.identity, date: .now)
/// let signed = material.signed(with: material.signature(with: credentials.accessKeySecret))
/// ```
///
/// The result depends only on the input. The description omits query, token and string to sign.
public struct OSSSigningMaterial: Sendable, Hashable {
    /// The request with everything that the signature covers: date, token and, for a URL, the validity period.
    public let request: OSSRequestToSign
    /// The rules of the signature.
    public let rules: OSSSigningRules
    /// The identity that signs.
    public let identity: OSSSigningIdentity
    /// The date of the signature.
    public let date: Date
    /// The string to sign, byte for byte. It can contain a security token: compare it, but do not log it.
    public let stringToSign: String
    /// The string whose hash is part of ``stringToSign`` in version 4; `nil` for version 1.
    public let canonicalRequest: String?
    /// The names of the additional signed fields, as written in the request; empty for version 1.
    let additionalNames: [String]

    /// Prepares a request for signing.
    ///
    /// Replaces the date and token of an earlier attempt.
    ///
    /// - Throws: ``StoreError/Code/invalidBucket``, ``StoreError/Code/invalidKey``,
    ///   ``StoreError/Code/invalidRegion`` or ``StoreError/Code/invalidExpiration``.
    public init(
        _ request: OSSRequestToSign, rules: OSSSigningRules, identity: OSSSigningIdentity, date: Date
    ) throws(StoreError) {
        try request.check()
        guard !identity.accessKeyID.isEmpty else {
            throw StoreError(
                .credentialsUnavailable, "The AccessKey ID is empty. Check the source of the credentials.")
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
            let scope = try rules.scope(at: date)
            let dated = OSSSignatureV4.dated(
                query: request.query, headers: request.headers, additional: rules.additionalHeaders,
                identity: identity, scope: scope, seconds: seconds)
            var request = request
            (request.query, request.headers) = (dated.query, dated.headers)
            self.request = request
            additionalNames = dated.listedNames
            let canonical = OSSSignatureV4.canonicalRequest(
                request.method, path: PercentEncoding.path(request.resource), dated)
            canonicalRequest = canonical
            stringToSign = OSSSignatureV4.stringToSign(canonical, scope: scope)
        }
    }

    /// Returns the signature made with a secret: Base64 for version 1, hexadecimal digits for version 4.
    public func signature(with secret: Secret) -> String {
        switch rules.version {
        case .v1: OSSSignatureV1.signature(stringToSign, secret: secret)
        case .v4: OSSSignatureV4.signature(stringToSign, secret: secret, scope: scope)
        }
    }

    /// Returns the request with its signature, ready to be sent.
    public func signed(with signature: String) -> OSSSignedRequest {
        var signed = request
        switch (rules.version, rules.placement) {
        case (.v1, .header):
            signed.headers[.authorization] = "OSS \(identity.accessKeyID):\(signature)"
        case (.v1, .query):
            signed.query.append(StoreQueryItem("Signature", signature))
        case (.v4, .header):
            signed.headers[.authorization] = OSSSignatureV4.authorization(
                signature, identity: identity, scope: scope, listedNames: additionalNames)
        case (.v4, .query):
            signed.query.append(StoreQueryItem(OSSSignatureRules.itemNames.signature, signature))
        }
        return OSSSignedRequest(request: signed, stringToSign: stringToSign, canonicalRequest: canonicalRequest)
    }

    /// The day, region and product of a version 4 signature.
    var scope: OSSSignatureV4.Scope {
        OSSSignatureV4.Scope(date: date, region: rules.region ?? "", product: rules.product)
    }
}

extension OSSSigningMaterial: RedactedDescription {
    /// The signature version and the request.
    public var description: String { "\(rules.version) signature of \(request)" }
}
