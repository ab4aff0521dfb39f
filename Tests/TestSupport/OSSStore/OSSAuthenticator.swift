internal import FoundationEssentials

/// The type of a request's signature.
package enum OSSSignatureKind: String, Sendable {
    case none, v1Header, v1URL, v4Header, v4URL, v1Form, v4Form, s3Header, s3URL
}

/// The authorization of an ``OSSStore``: keys, tokens, clocks and signatures, by the rules of the service.
struct OSSAuthenticator {
    static let allowedSkew = 900

    let settings: OSSStoreSettings
    /// The store's current time.
    let now: Int
    let skew: OSSSkew?

    /// Authenticates a request that is not a form.
    ///
    /// - Throws: ``OSSRefusal``.
    func identify(_ call: OSSCall) throws -> OSSSignatureKind {
        if settings.dialect == .s3 { return try S3Authenticator(gate: self).identify(call) }
        let authorization = call.request.values(of: "Authorization")
        guard authorization.count <= 1 else { throw OSSRefusal.badRequest("There are two Authorization fields.") }
        if let words = authorization.first {
            if words.hasPrefix("OSS4-HMAC-SHA256") { return try checkV4Header(call, words) }
            guard words.hasPrefix("OSS ") else {
                throw OSSRefusal.badRequest("The authorization header you provided is invalid.")
            }
            return try checkV1Header(call, String(words.dropFirst(4)))
        }
        if call.query("x-oss-signature-version") != nil { return try checkV4URL(call) }
        if call.query("OSSAccessKeyId") != nil { return try checkV1URL(call) }
        throw OSSRefusal.denied("Anonymous access is forbidden for this operation.")
    }

    // MARK: Version 1

    private func checkV1Header(_ call: OSSCall, _ words: String) throws -> OSSSignatureKind {
        let parts = words.split(separator: ":", omittingEmptySubsequences: false).map { String($0.trimmingWhitespace) }
        guard parts.count == 2 else { throw OSSRefusal.badRequest("The authorization header you provided is invalid.") }
        let account = try account(parts[0])
        let fields = call.request.fields
        guard let date = fields["x-oss-date"] ?? fields["date"], let time = StoreDate.fromHTTP(date) else {
            throw OSSRefusal.denied("OSS authentication requires a valid Date.")
        }
        try checkSkew(time, isV4: false)
        try checkToken(account, fields["x-oss-security-token"])
        try compareV1(parts[1], account, OSSSignatures.stringToSignV1(call, fields: fields, date: date))
        return .v1Header
    }

    private func checkV1URL(_ call: OSSCall) throws -> OSSSignatureKind {
        guard let id = call.query("OSSAccessKeyId"), let signature = call.query("Signature"),
            let expires = call.query("Expires").flatMap({ Int($0) })
        else { throw OSSRefusal.denied("Query-string authentication needs Signature, Expires and OSSAccessKeyId.") }
        let account = try account(id)
        guard now <= expires else { throw OSSRefusal.denied("Request has expired.") }
        try checkToken(account, call.query("security-token"))
        let text = OSSSignatures.stringToSignV1(call, fields: call.request.fields, date: String(expires))
        try compareV1(signature, account, text)
        return .v1URL
    }

    private func compareV1(_ provided: String, _ account: OSSAccount, _ stringToSign: [UInt8]) throws {
        guard provided != OSSSignatures.signatureV1(stringToSign, secret: account.secret) else { return }
        throw mismatch(account, provided, stringToSign, canonicalRequest: nil)
    }

    // MARK: Version 4

    private func checkV4Header(_ call: OSSCall, _ words: String) throws -> OSSSignatureKind {
        // In any order and with spaces: the vendor's clients differ in that.
        var items: [String: String] = [:]
        for item in words.dropFirst("OSS4-HMAC-SHA256".count).split(separator: ",") {
            let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else {
                throw OSSRefusal.badRequest("Invalid Authorization header: \(item.trimmingWhitespace)")
            }
            items[String(halves[0].trimmingWhitespace)] = String(halves[1].trimmingWhitespace)
        }
        let fields = call.request.fields
        guard let credential = items["Credential"], let signature = items["Signature"] else {
            throw OSSRefusal.badRequest("Authorization has no Credential or no Signature.")
        }
        let (account, scope) = try parse(credential: credential)
        guard let payload = fields["x-oss-content-sha256"], payload == "UNSIGNED-PAYLOAD" else {
            throw OSSRefusal.badRequest("x-oss-content-sha256 has to be UNSIGNED-PAYLOAD.")
        }
        let date = fields["x-oss-date"] ?? ""
        let time = try signingTime(date, scope)
        try checkSkew(time, isV4: true)
        try checkToken(account, fields["x-oss-security-token"])
        let canonical = OSSSignatures.canonicalRequest(
            call, fields: fields, additional: Self.names(items["AdditionalHeaders"]), without: [], payload: payload)
        try compareV4(signature, account, canonical, date, scope)
        return .v4Header
    }

    private func checkV4URL(_ call: OSSCall) throws -> OSSSignatureKind {
        guard call.query("x-oss-signature-version") == "OSS4-HMAC-SHA256",
            let credential = call.query("x-oss-credential"), let signature = call.query("x-oss-signature"),
            let date = call.query("x-oss-date"), let expires = call.query("x-oss-expires").flatMap({ Int($0) })
        else { throw OSSRefusal.denied("A presigned URL of version 4 lacks one of its items.") }
        let (account, scope) = try parse(credential: credential)
        let longest = account.token == nil ? 604_800 : 43_200
        guard (1...longest).contains(expires) else {
            throw OSSRefusal.badRequest("x-oss-expires has to be from 1 to \(longest).")
        }
        let time = try signingTime(date, scope)
        guard time - Self.allowedSkew <= now else { throw OSSRefusal.denied("Request is not valid yet.") }
        guard now <= time + expires else { throw OSSRefusal.denied("Request has expired.") }
        try checkToken(account, call.query("x-oss-security-token"))
        let canonical = OSSSignatures.canonicalRequest(
            call, fields: call.request.fields, additional: Self.names(call.query("x-oss-additional-headers")),
            without: ["x-oss-signature"], payload: "UNSIGNED-PAYLOAD")
        try compareV4(signature, account, canonical, date, scope)
        return .v4URL
    }

    /// Returns the account and the scope of `id/day/region/product/aliyun_v4_request`.
    func parse(credential: String) throws -> (OSSAccount, OSSSignatures.Scope) {
        let halves = credential.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, let scope = OSSSignatures.Scope(halves[1]) else {
            throw OSSRefusal.badRequest("Invalid credential in Authorization: \(credential)")
        }
        guard scope.region == settings.region, scope.product == "oss" else {
            throw OSSRefusal.badRequest("Invalid signing region or product in Authorization: \(scope.text)")
        }
        return (try account(String(halves[0])), scope)
    }

    private func signingTime(_ date: String, _ scope: OSSSignatures.Scope) throws -> Int {
        guard let time = StoreDate.fromCompact(date), date.hasPrefix(scope.day) else {
            throw OSSRefusal.badRequest("Invalid signing date in Authorization header.")
        }
        return time
    }

    private func compareV4(
        _ provided: String, _ account: OSSAccount, _ canonical: String, _ date: String, _ scope: OSSSignatures.Scope
    ) throws {
        let text = OSSSignatures.stringToSignV4(canonical, date: date, scope: scope)
        guard provided != OSSSignatures.signatureV4(text, secret: account.secret, scope: scope) else { return }
        throw mismatch(account, provided, Array(text.utf8), canonicalRequest: canonical)
    }

    private static func names(_ list: String?) -> [String] {
        (list ?? "").split(separator: ";").map { String($0.trimmingWhitespace) }
    }

    // MARK: Common checks

    func account(_ id: String) throws -> OSSAccount {
        guard let account = settings.accounts.first(where: { $0.id == id }) else {
            throw OSSRefusal(
                403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.",
                ec: "0002-00000902", details: [("OSSAccessKeyId", id)])
        }
        return account
    }

    func checkToken(_ account: OSSAccount, _ token: String?) throws {
        guard let expected = account.token else {
            guard token == nil else {
                throw OSSRefusal(
                    403, "InvalidSecurityToken", "The security token you provided is invalid.", ec: "0002-00000061")
            }
            return
        }
        guard let token else {
            throw OSSRefusal(
                403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.",
                ec: "0002-00000902", details: [("OSSAccessKeyId", account.id)])
        }
        guard token == expected else {
            throw OSSRefusal(
                403, "InvalidSecurityToken", "The security token you provided is invalid.", ec: "0002-00000061")
        }
        if let expiration = account.expiration, now >= expiration { throw Self.tokenExpired }
    }

    static let tokenExpired = OSSRefusal(
        403, "SecurityTokenExpired", "The security token you provided has expired.", ec: "0002-00000069")

    func checkSkew(_ time: Int, isV4: Bool) throws {
        guard abs(now - time) > Self.allowedSkew else { return }
        if isV4, skew?.report == .invalidSigningDate {
            throw OSSRefusal(
                400, "InvalidArgument", "Invalid signing date in Authorization header.", ec: "0002-00000225")
        }
        var details = [
            ("MaxAllowedSkewMilliseconds", "\(Self.allowedSkew * 1_000)"), ("RequestTime", StoreDate.iso(time)),
        ]
        if skew?.hasServerTime ?? true { details.append(("ServerTime", StoreDate.iso(now))) }
        throw OSSRefusal(
            403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
            ec: "0002-00000504", details: details)
    }

    func mismatch(
        _ account: OSSAccount, _ provided: String, _ stringToSign: [UInt8], canonicalRequest: String?
    ) -> OSSRefusal {
        var details = [
            ("OSSAccessKeyId", account.id), ("SignatureProvided", provided), ("StringToSign", stringToSign.text),
            ("StringToSignBytes", stringToSign.map { StoreText.hex([$0]).uppercased() }.joined(separator: " ")),
        ]
        if let canonicalRequest { details.append(("CanonicalRequest", canonicalRequest)) }
        return OSSRefusal(
            403, "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
            ec: "0002-00000040", details: details)
    }
}
