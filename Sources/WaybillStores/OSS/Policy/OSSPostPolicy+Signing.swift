public import FoundationEssentials
import WaybillCore

extension OSSPostPolicy {
    /// Signs the policy, usually on a server on behalf of clients that upload.
    ///
    /// Version 4 adds conditions for its own fields, and version 1 adds one for the security token, unless the policy
    /// already has them.
    ///
    /// - Parameters:
    ///   - url: The URL to which the form is posted: scheme and host of the bucket.
    ///   - rules: The signature version, region and product. The placement is ignored: the signature is a form field.
    ///   - credentials: The credentials that sign.
    ///   - date: The date of the signature.
    /// - Returns: A form with everything that a client needs for the upload.
    /// - Throws: ``StoreError/Code/invalidPolicy``, ``StoreError/Code/invalidRegion`` or
    ///   ``StoreError/Code/invalidExpiration``.
    public func form(
        at url: String, rules: OSSSigningRules, credentials: StoreCredentials, date: Date = .now
    ) throws(StoreError) -> OSSPostForm {
        switch rules.version {
        case .v1:
            try check(credentials, date, lifetime: .max)
            return try formV1(at: url, credentials: credentials)
        case .v4: return try formV4(at: url, scope: try rules.scope(at: date), credentials: credentials)
        }
    }

    private func check(_ credentials: StoreCredentials, _ date: Date, lifetime limit: Int64) throws(StoreError) {
        try credentials.check()
        let lifetime = StoreDate.seconds(expiration) - StoreDate.seconds(date)
        guard lifetime > 0 else {
            throw StoreError(.invalidExpiration, "The expiration of the policy is in the past. Choose a later date.")
        }
        guard lifetime <= limit else {
            throw StoreError(
                .invalidExpiration,
                "The policy is valid for more than seven days, the limit of version 4 signatures. Choose an earlier "
                    + "date.")
        }
    }

    private func formV1(at url: String, credentials: StoreCredentials) throws(StoreError) -> OSSPostForm {
        var policy = self
        var fields = [OSSPostForm.Field("OSSAccessKeyId", credentials.accessKeyID)]
        if let token = credentials.securityToken {
            fields.append(OSSPostForm.Field("x-oss-security-token", token.value))
            policy.add("x-oss-security-token", token.value)
        }
        let text = MessageAuthentication.base64(Array(try policy.json().utf8))
        fields.append(OSSPostForm.Field("policy", text))
        fields.append(
            OSSPostForm.Field("Signature", OSSSignatureV1.signature(text, secret: credentials.accessKeySecret)))
        return try OSSPostForm(url: url, fields: fields, expiration: expiration, keyPrefix: keyPrefix)
    }

    /// Signs the policy with version 4. Only the names of the fields differ between the stores.
    func formV4<Rules: SignatureV4Rules>(
        at url: String, scope: SignatureV4<Rules>.Scope, credentials: StoreCredentials
    ) throws(StoreError) -> OSSPostForm {
        try check(credentials, scope.date, lifetime: 604_800)
        let prefix = Rules.fieldPrefix
        var fields = [
            OSSPostForm.Field(Rules.formAlgorithmField, Rules.algorithm),
            OSSPostForm.Field("\(prefix)credential", "\(credentials.accessKeyID)/\(scope.text)"),
            OSSPostForm.Field("\(prefix)date", StoreDate.compact(scope.date)),
        ]
        if let token = credentials.securityToken {
            fields.append(OSSPostForm.Field("\(prefix)security-token", token.value))
        }
        var policy = self
        for field in fields { policy.add(field.name, field.value.value) }
        let json = try policy.json(escapesDollars: Rules.self == OSSSignatureRules.self)
        let text = MessageAuthentication.base64(Array(json.utf8))
        let signature = SignatureV4<Rules>.signature(text, secret: credentials.accessKeySecret, scope: scope)
        fields += [OSSPostForm.Field("policy", text), OSSPostForm.Field("\(prefix)signature", signature)]
        return try OSSPostForm(url: url, fields: fields, expiration: expiration, keyPrefix: keyPrefix)
    }

    private mutating func add(_ field: String, _ value: String) {
        if !names(field) { conditions.append(.exactly(field, value)) }
    }

    /// The required prefix of every key, if a condition states one.
    private var keyPrefix: String {
        for case .startsWith("key", let prefix) in conditions { return prefix }
        return ""
    }
}
