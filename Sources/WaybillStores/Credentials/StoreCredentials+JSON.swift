import FoundationEssentials
import WaybillCore

extension StoreCredentials {
    /// Parses credentials in the formats of token servers, the metadata service and login commands.
    ///
    /// ```json
    /// {"AccessKeyId": "STS.…", "AccessKeySecret": "…", "SecurityToken": "…", "Expiration": "2026-12-29T07:45:02Z"}
    /// {"RequestId": "…", "Credentials": {"AccessKeyId": "STS.…", …}}
    /// {"code": 0, "data": {"access_key_id": "…", "access_key_secret": "…", "expiration": 1798530302000}}
    /// ```
    ///
    /// Names are compared without regard to case, hyphens and underscores, and are also found in nested objects. The
    /// expiration is optional: ISO 8601 with or without a fraction, or seconds or milliseconds since 1970, as a number
    /// or a string.
    ///
    /// - Throws: ``StoreError/Code/credentialsMalformed`` with the missing member, and
    ///   ``StoreError/Code/credentialsUnavailable`` if the JSON reports an error, such as
    ///   `{"StatusCode": 403, "ErrorMessage": "…"}`. Errors never contain credentials.
    public init(json: some Sequence<UInt8>) throws(StoreError) {
        let object = try LenientJSONObject(Array(json), what: "credentials", failing: .credentialsMalformed)
        let identifiers = ["accesskeyid", "accesskey", "accessid", "ak"]
        let found = object.holder(of: identifiers)
        try Self.checkForFailure(object, hasCredentials: found != nil)
        guard let found, let id = found.text(of: identifiers) else {
            throw StoreError(
                .credentialsMalformed, "The JSON has no AccessKeyId, neither at the top level nor in a nested object.")
        }
        let secrets = ["accesskeysecret", "secretaccesskey", "secretkey", "accesssecret", "sk"]
        guard let secret = found.text(of: secrets) else {
            throw StoreError(.credentialsMalformed, "The JSON has an AccessKeyId but no AccessKeySecret.")
        }
        self.init(
            accessKeyID: id, accessKeySecret: .secret(secret),
            securityToken: found.text("securitytoken", "ststoken", "sessiontoken", "token").map { .secret($0) },
            expiration: try found.date(
                "expiration", "expirationtime", "expiretime", "expiresat", "expireat", "expire",
                failing: .credentialsMalformed))
        try check()
    }

    /// Throws for the errors `{"StatusCode": 403, "ErrorMessage": …}` of a token server and `{"Code": "Failed"}` of the
    /// metadata service.
    private static func checkForFailure(_ object: LenientJSONObject, hasCredentials: Bool) throws(StoreError) {
        let status = object.text("statuscode")
        let code = object.text("code", "errorcode", "error")
        let isFailure = status.map { $0 != "200" } ?? false || code?.lowercased() == "failed"
        guard isFailure || !hasCredentials && code != nil else { return }
        let message = object.text("errormessage", "message", "msg", "errordescription") ?? "no message"
        throw StoreError(
            .credentialsUnavailable,
            "The token server returned an error instead of credentials: \(StoreError.shown(message)) "
                + "(\(StoreError.shown(code ?? status ?? ""))).")
    }
}
