extension OSSWork {
    /// Accepts a form (PostObject).
    func post(_ state: inout OSSState) throws -> OSSReply {
        guard let bytes = body.bytes else {
            throw OSSRefusal(400, "EntityTooLarge", "This store reads forms in memory.", ec: "0017-00000603")
        }
        let form = try OSSForm(bytes, contentType: call.request.value(of: "Content-Type") ?? "")
        try checkPolicy(form)
        let key = try key(of: form)
        let name = ObjectName(bucket: call.bucket!, key: key)
        try Self.check(
            acl: form.value("x-oss-object-acl"), storageClass: form.value("x-oss-storage-class"),
            trafficLimit: form.value("x-oss-traffic-limit"))
        try checkOverwrite(state, name, form.value("x-oss-forbid-overwrite"))
        var object = OSSObject(content: BodyIntake.stored(form.file.value), fields: fields(of: form))
        object.etag = object.content.md5
        if let md5 = form.value("Content-MD5") { try checkDigest(md5, object.content) }
        let callback = try callback(of: form)
        object.callback = callback?.expanded(call, object, key: key)
        add(object, name, to: &state)
        return answer(form, object, key, callback)
    }

    /// Returns the signature type of a form from its fields.
    static func kind(of form: OSSForm) -> OSSSignatureKind {
        if form.value("x-oss-signature-version") ?? form.value("x-amz-algorithm") != nil { return .v4Form }
        return form.value("OSSAccessKeyId") != nil ? .v1Form : .none
    }

    private func checkPolicy(_ form: OSSForm) throws {
        let kind = Self.kind(of: form)
        guard kind != .none else { throw OSSRefusal.denied("Anonymous forms are forbidden for this bucket.") }
        guard let encoded = form.value("policy") else { throw Self.incomplete("policy") }
        let prefix = settings.dialect.prefix
        let account =
            settings.dialect == .s3
            ? try checkS3(form, encoded) : kind == .v4Form ? try checkV4(form, encoded) : try checkV1(form, encoded)
        try gate.checkToken(account, form.value("\(prefix)security-token"))
        let policy = try OSSPolicy(encoded: encoded)
        if kind == .v4Form {
            let algorithm = settings.dialect == .s3 ? "x-amz-algorithm" : "x-oss-signature-version"
            let needed = [algorithm, "\(prefix)credential", "\(prefix)date"]
            for name in needed + (account.token == nil ? [] : ["\(prefix)security-token"]) where !policy.wants(name) {
                throw OSSPolicy.invalid("The policy has no condition for \(name).", ec: "0006-00000223")
            }
        }
        guard gate.now < policy.expiration else {
            throw OSSRefusal.denied("Invalid according to Policy: Policy expired.")
        }
        let violation = policy.violation(fileSize: form.file.value.count) { name in
            name == "bucket" ? call.bucket : form.fields.first { $0.name.lowercased() == name }?.value.text
        }
        if let violation { throw violation }
    }

    private func checkS3(_ form: OSSForm, _ policy: String) throws -> OSSAccount {
        let names = ["x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"]
        let values = try names.map { name in
            guard let value = form.value(name) else { throw Self.incomplete(name) }
            return value
        }
        let words = values[1].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard values[0] == "AWS4-HMAC-SHA256", words.count == 5, words[2] == settings.region, words[3] == "s3",
            words[4] == "aws4_request", values[2].hasPrefix(words[1]), StoreDate.fromCompact(values[2]) != nil
        else { throw OSSRefusal.badRequest("The credential or date is invalid.") }
        let account = try gate.account(words[0])
        let key = OSSSignatures.chain(Array("AWS4\(account.secret)".utf8), Array(words.dropFirst()) + [policy])
        guard StoreText.hex(key) == values[3] else {
            throw gate.mismatch(account, values[3], Array(policy.utf8), canonicalRequest: nil)
        }
        return account
    }

    private func checkV1(_ form: OSSForm, _ policy: String) throws -> OSSAccount {
        guard let id = form.value("OSSAccessKeyId") else { throw Self.incomplete("OSSAccessKeyId") }
        guard let signature = form.value("Signature") else { throw Self.incomplete("Signature") }
        let account = try gate.account(id)
        guard signature == OSSSignatures.signatureV1(Array(policy.utf8), secret: account.secret) else {
            throw gate.mismatch(account, signature, Array(policy.utf8), canonicalRequest: nil)
        }
        return account
    }

    private func checkV4(_ form: OSSForm, _ policy: String) throws -> OSSAccount {
        guard form.value("x-oss-signature-version") == "OSS4-HMAC-SHA256" else {
            throw OSSRefusal.badRequest("The signature version is not known.")
        }
        guard let credential = form.value("x-oss-credential") else { throw Self.incomplete("x-oss-credential") }
        guard let signature = form.value("x-oss-signature") else { throw Self.incomplete("x-oss-signature") }
        guard let date = form.value("x-oss-date"), let time = StoreDate.fromCompact(date) else {
            throw Self.incomplete("x-oss-date")
        }
        let (account, scope) = try gate.parse(credential: credential)
        guard date.hasPrefix(scope.day) else {
            throw OSSRefusal.badRequest("Date and credential are of different days.")
        }
        guard time <= gate.now + OSSAuthenticator.allowedSkew, gate.now <= time + 604_800 else {
            throw OSSRefusal.denied("Invalid according to Policy: the signature is of another time.")
        }
        guard signature == OSSSignatures.signatureV4(policy, secret: account.secret, scope: scope) else {
            throw gate.mismatch(account, signature, Array(policy.utf8), canonicalRequest: nil)
        }
        return account
    }

    private static func incomplete(_ name: String) -> OSSRefusal {
        OSSRefusal.badRequest("The form has some of the fields of a signature, but not \(name).")
    }

    private func key(of form: OSSForm) throws -> [UInt8] {
        guard let key = form.value("key") else {
            throw OSSRefusal(
                400, "IncorrectNumberOfFilesInPOSTRequest", "The form has no key before its file.", ec: "0017-00000605")
        }
        let filename = (form.file.filename ?? "").split(separator: "/").last.map(String.init) ?? ""
        let bytes = Array(
            key.split(separator: "${filename}", omittingEmptySubsequences: false).joined(separator: filename).utf8)
        try checkKey(bytes)
        return bytes
    }

    private func fields(of form: OSSForm) -> [String: String] {
        var fields: [String: String] = [:]
        for field in form.fields { fields[field.name.lowercased()] = field.value.text }
        if let type = fields["x-oss-content-type"] ?? fields["content-type"] ?? form.file.contentType {
            fields["content-type"] = type
        }
        let ofSignature: Set = [
            "x-oss-signature", "x-oss-signature-version", "x-oss-credential", "x-oss-date", "x-oss-content-type",
            "x-amz-signature", "x-amz-algorithm", "x-amz-credential",
        ]
        return Self.kept(fields).filter { !ofSignature.contains($0.key) }
    }

    private func callback(of form: OSSForm) throws -> OSSCallback? {
        guard let encoded = form.value("callback") else { return nil }
        let variables = form.fields.filter { $0.name.hasPrefix("x:") }.map { ($0.name, $0.value.text) }
        return try OSSCallback(encoded: encoded, variables: nil).with(Dictionary(variables) { $1 })
    }

    private func answer(_ form: OSSForm, _ object: OSSObject, _ key: [UInt8], _ callback: OSSCallback?) -> OSSReply {
        var reply = reply(for: object, callback)
        guard callback == nil else { return reply }
        let location = "http://\(call.request.value(of: "Host") ?? "")/\(StoreText.encoded(key, also: "/"))"
        reply.fields.append(("Location", location))
        if let target = form.value("success_action_redirect"), !target.isEmpty {
            let query = "bucket=\(call.bucket!)&key=\(StoreText.encoded(key))&etag=%22\(object.etag)%22"
            reply.fields.removeLast()
            reply.fields.append(("Location", target + (target.contains("?") ? "&" : "?") + query))
            reply.status = 303
            return reply
        }
        reply.status = form.value("success_action_status").flatMap { Int($0) } ?? 204
        if ![200, 201, 204].contains(reply.status) { reply.status = 204 }
        if reply.status == 201 {
            let xml = OSSReply.xml(
                "PostResponse",
                [
                    ("Bucket", call.bucket!), ("Location", location), ("Key", key.text), ("ETag", "\"\(object.etag)\""),
                ])
            reply.fields += xml.fields
            reply.body = xml.body
        }
        return reply
    }
}
