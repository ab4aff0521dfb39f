import FoundationEssentials

extension OSSPostForm {
    /// Parses the response of a server that signs forms.
    ///
    /// ```json
    /// {"host": "https://cards.oss-cn-hangzhou.aliyuncs.com", "dir": "user-7/", "expire": 1798530302,
    ///  "accessid": "…", "policy": "…", "signature": "…", "callback": "…"}
    /// {"url": "https://…", "fields": {"policy": "…", "x-oss-signature": "…", …}}
    /// ```
    ///
    /// The first is the format of the vendor's samples, for version 1 and, with `x_oss_credential` and `x_oss_date`,
    /// for version 4. Names are compared without regard to case, hyphens and underscores. In the second, `fields` are
    /// sent unchanged.
    ///
    /// - Throws: ``StoreError/Code/presignedMalformed``. The error does not contain the input.
    public init(json: some Sequence<UInt8>) throws(StoreError) {
        let object = try LenientJSONObject(Array(json), what: "a signed form", failing: .presignedMalformed)
        guard var url = object.text("url", "host", "action", "endpoint") else {
            throw StoreError(.presignedMalformed, "The signed form has no URL. Add a url or host member to the JSON.")
        }
        if url.utf8.starts(with: "//".utf8) { url = "https:\(url)" }
        if !url.utf8.starts(with: "http".utf8) { url = "https://\(url)" }
        let fields: [Field]
        if case .object(let given)? = object.member("fields", "formfields", "form") {
            fields = given.keys.sorted().compactMap { name in given[name]?.asText.map { Field(name, $0) } }
        } else {
            fields = Self.fields(of: object)
        }
        let expiration = try object.date("expire", "expiration", "expiretime", "expireat", failing: .presignedMalformed)
        try self.init(
            url: url, fields: fields, expiration: expiration,
            keyPrefix: object.text("dir", "keyprefix", "prefix") ?? "")
    }

    private static func fields(of object: LenientJSONObject) -> [Field] {
        let isV4 = object.text("xosscredential", "xosssignatureversion") != nil
        let common: [(String, [String])] = [
            ("policy", ["policy"]), ("callback", ["callback"]),
            ("success_action_status", ["successactionstatus"]),
            ("x-oss-security-token", ["xosssecuritytoken", "securitytoken", "ststoken", "token"]),
        ]
        let own: [(String, [String])] =
            isV4
            ? [
                ("x-oss-signature-version", ["xosssignatureversion", "signatureversion", "version"]),
                ("x-oss-credential", ["xosscredential"]), ("x-oss-date", ["xossdate", "date"]),
                ("x-oss-signature", ["xosssignature", "signature"]),
            ]
            : [
                ("OSSAccessKeyId", ["ossaccesskeyid", "accessid", "accesskeyid"]), ("Signature", ["signature"]),
            ]
        return (own + common).compactMap { name, spellings in
            object.text(of: spellings).flatMap { $0.isEmpty ? nil : Field(name, $0) }
        }
    }
}
