/// The protocol of an ``OSSStore``.
package enum StoreDialect: Sendable {
    /// Aliyun OSS.
    case oss
    /// Amazon S3.
    case s3

    /// The prefix of the store's header fields.
    var prefix: String { self == .oss ? "x-oss-" : "x-amz-" }

    /// Returns an error with the code that the service has for it.
    func named(_ refusal: OSSRefusal) -> OSSRefusal {
        let codes = [
            "SecurityTokenExpired": "ExpiredToken", "InvalidSecurityToken": "InvalidToken",
            "ServiceUnavailable": "SlowDown",
        ]
        guard self == .s3, let code = codes[refusal.code] else { return refusal }
        var refusal = refusal
        refusal.code = code
        return refusal
    }
}

/// The authorization of an ``OSSStore`` with the protocol of S3: Signature Version 4 in header and query.
struct S3Authenticator {
    let gate: OSSAuthenticator

    /// - Throws: ``OSSRefusal``.
    func identify(_ call: OSSCall) throws -> OSSSignatureKind {
        let authorization = call.request.values(of: "Authorization")
        guard authorization.count <= 1 else { throw OSSRefusal.badRequest("There are two Authorization fields.") }
        if let words = authorization.first { return try checkHeader(call, words) }
        if call.query("X-Amz-Algorithm") != nil { return try checkURL(call) }
        throw OSSRefusal.denied("Anonymous access is forbidden for this operation.")
    }

    private struct Parts {
        var credential: String
        var names: [String]
        var signature: String
        var date: String
        var token: String?
    }

    private func checkHeader(_ call: OSSCall, _ words: String) throws -> OSSSignatureKind {
        let fields = call.request.fields
        var items: [String: String] = [:]
        for item in words.dropFirst("AWS4-HMAC-SHA256".count).split(separator: ",") {
            let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            items[String(halves[0].trimmingWhitespace)] = halves.count == 2 ? String(halves[1].trimmingWhitespace) : ""
        }
        guard words.hasPrefix("AWS4-HMAC-SHA256 "), let credential = items["Credential"],
            let names = items["SignedHeaders"], let signature = items["Signature"], let date = fields["x-amz-date"]
        else { throw OSSRefusal.badRequest("The authorization header is invalid.") }
        guard let payload = fields["x-amz-content-sha256"],
            payload == "UNSIGNED-PAYLOAD" || payload.utf8.count == 64
        else { throw OSSRefusal.badRequest("x-amz-content-sha256 must be UNSIGNED-PAYLOAD, or a valid SHA-256.") }
        let parts = Parts(
            credential: credential, names: names.split(separator: ";").map(String.init), signature: signature,
            date: date, token: fields["x-amz-security-token"])
        let time = try compare(parts, call, payload: payload)
        try gate.checkSkew(time, isV4: false)
        return .s3Header
    }

    private func checkURL(_ call: OSSCall) throws -> OSSSignatureKind {
        guard call.query("X-Amz-Algorithm") == "AWS4-HMAC-SHA256", let credential = call.query("X-Amz-Credential"),
            let names = call.query("X-Amz-SignedHeaders"), let signature = call.query("X-Amz-Signature"),
            let date = call.query("X-Amz-Date"), let expires = call.query("X-Amz-Expires").flatMap({ Int($0) })
        else { throw OSSRefusal.denied("Query-string authentication lacks one of its items.") }
        guard (1...604_800).contains(expires) else {
            throw OSSRefusal.badRequest("X-Amz-Expires must be less than a week (in seconds).")
        }
        let parts = Parts(
            credential: credential, names: names.split(separator: ";").map(String.init), signature: signature,
            date: date, token: call.query("X-Amz-Security-Token"))
        let time = try compare(parts, call, payload: "UNSIGNED-PAYLOAD")
        guard time - OSSAuthenticator.allowedSkew <= gate.now else {
            throw OSSRefusal.denied("Request is not valid yet.")
        }
        guard gate.now <= time + expires else { throw OSSRefusal.denied("Request has expired.") }
        return .s3URL
    }

    /// Compares the signature and returns its time.
    private func compare(_ parts: Parts, _ call: OSSCall, payload: String) throws -> Int {
        let words = parts.credential.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 5, words[3] == "s3", words[4] == "aws4_request",
            let time = StoreDate.fromCompact(parts.date), parts.date.hasPrefix(words[1])
        else { throw OSSRefusal(400, "AuthorizationHeaderMalformed", "The credential or date is invalid.", ec: "") }
        try checkRegion(words[2], call)
        let account = try gate.account(words[0])
        try gate.checkToken(account, parts.token)
        let fields = call.request.fields
        let present = fields.keys.filter { $0.hasPrefix("x-amz-") || $0 == "content-type" } + ["host"]
        guard Set(present).isSubset(of: parts.names), parts.names == parts.names.sorted() else {
            throw OSSRefusal.denied("There were headers present in the request which were not signed.")
        }
        let canonical = canonicalRequest(call, parts.names, payload)
        let text =
            "AWS4-HMAC-SHA256\n\(parts.date)\n\(words.dropFirst().joined(separator: "/"))\n"
            + OSSSignatures.sha256(canonical)
        let key = OSSSignatures.chain(Array("AWS4\(account.secret)".utf8), Array(words.dropFirst()) + [text])
        guard StoreText.hex(key) == parts.signature else {
            throw gate.mismatch(account, parts.signature, Array(text.utf8), canonicalRequest: canonical)
        }
        return time
    }

    private func canonicalRequest(_ call: OSSCall, _ names: [String], _ payload: String) -> String {
        let path = StoreText.decoded(call.request.target.prefix { $0 != "?" }) ?? []
        let items = call.query.filter { $0.name.text != "X-Amz-Signature" }.map { item in
            (StoreText.encoded(item.name), StoreText.encoded(item.value))
        }
        let query = items.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let fields = call.request.fields
        let headers = names.map { name in
            "\(name):\((fields[name] ?? "").split(separator: " ").joined(separator: " "))\n"
        }.joined()
        return [
            call.request.method, StoreText.encoded(path, also: "/"), query, headers, names.joined(separator: ";"),
            payload,
        ].joined(separator: "\n")
    }

    /// Refuses requests to a host of another region than the bucket's, and signatures for another region.
    private func checkRegion(_ region: String, _ call: OSSCall) throws {
        let wanted = gate.settings.bucketRegions[call.bucket ?? ""] ?? gate.settings.region
        guard region != wanted else { return }
        let isRegional = (call.request.value(of: "Host") ?? "").split(separator: ".").contains { $0 == region }
        var refusal =
            isRegional
            ? OSSRefusal(301, "PermanentRedirect", "The bucket must be addressed using the specified endpoint.", ec: "")
            : OSSRefusal(
                400, "AuthorizationHeaderMalformed", "The region '\(region)' is wrong; expecting '\(wanted)'", ec: "",
                details: [("Region", wanted)])
        if isRegional { refusal.fields = [("x-amz-bucket-region", wanted)] }
        throw refusal
    }
}

extension OSSWork {
    /// Checks the digests and the condition of a write by the protocol of S3.
    func checkS3(_ state: OSSState) throws {
        let fields = call.request.fields
        if let hash = fields["x-amz-content-sha256"], hash != "UNSIGNED-PAYLOAD", hash != StoreText.hex(body.sha256) {
            throw OSSRefusal(
                400, "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.", ec: "")
        }
        guard settings.checksConditions, let name = call.name else { return }
        let object = state.objects[name]
        let isMet =
            (fields["if-none-match"] != "*" || object == nil)
            && (fields["if-match"].map { $0 == object.map { "\"\($0.etag)\"" } } ?? true)
        guard isMet else {
            throw OSSRefusal(
                412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", ec: "")
        }
    }
}
