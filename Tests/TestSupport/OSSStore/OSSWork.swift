internal import CTestSupport

/// The response of an operation without the parts common to all responses.
struct OSSReply {
    var status = 200
    var fields: [(String, String)] = []
    var body: [UInt8] = []
    /// Sent as `x-oss-hash-crc64ecma`.
    var checksum: UInt64?
    /// Whether a callback was performed.
    var calledBack = false

    /// Returns a response with an XML body.
    static func xml(_ root: String, _ elements: [(String, String)], inner: String = "") -> OSSReply {
        let lines = elements.map { "  <\($0.0)>\(StoreText.xml($0.1))</\($0.0)>\n" }.joined()
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<\(root)>\n\(lines)\(inner)</\(root)>\n"
        return OSSReply(fields: [("Content-Type", "application/xml")], body: Array(text.utf8))
    }
}

/// An operation on an ``OSSStore`` after its body was read and its sender authenticated.
struct OSSWork {
    let call: OSSCall
    let settings: OSSStoreSettings
    let gate: OSSAuthenticator
    let body: StoredBytes

    /// - Throws: ``OSSRefusal``, in which case nothing has changed.
    func perform(_ state: inout OSSState) throws -> OSSReply {
        try checkName()
        try checkFields()
        if settings.dialect == .s3 { try checkS3(state) }
        switch call.operation {
        case .putObject: return try put(&state)
        case .appendObject: return try append(&state)
        case .postObject: return try post(&state)
        case .headObject: return try head(state, withBody: false)
        case .getObject: return try head(state, withBody: true)
        case .deleteObject:
            state.objects[call.name!] = nil
            return OSSReply(status: 204)
        case .initiate: return try initiate(&state)
        case .uploadPart: return try uploadPart(&state)
        case .listParts: return try listParts(state)
        case .complete: return try complete(&state)
        case .abort:
            _ = try upload(state)
            state.uploads[call.uploadID!] = nil
            state.aborted.append(call.uploadID!)
            return OSSReply(status: 204)
        case .listObjects: return listObjects(state)
        case .unknown: throw OSSRefusal(405, "MethodNotAllowed", "Not an operation of this store.", ec: "0017-00000902")
        }
    }

    // MARK: Whole objects

    private func put(_ state: inout OSSState) throws -> OSSReply {
        try checkMD5()
        let sums = try checkSum()
        try checkOverwrite(state, call.name!, call.request.value(of: "x-oss-forbid-overwrite"))
        let callback = try OSSCallback(call)
        var object = OSSObject(content: body, etag: body.md5, fields: Self.kept(call.request.fields))
        object.callback = callback?.expanded(call, object)
        object.checksum = sums.first.map { ($0.0, $0.1) }
        add(object, call.name!, to: &state)
        var reply = reply(for: object, callback)
        reply.fields += sums
        return reply
    }

    private func append(_ state: inout OSSState) throws -> OSSReply {
        try checkMD5()
        let name = call.name!
        var object = state.objects[name] ?? OSSObject(kind: .appendable, fields: Self.kept(call.request.fields))
        guard object.kind == .appendable else {
            throw OSSRefusal(409, "ObjectNotAppendable", "The object is not appendable", ec: "0026-00000066")
        }
        guard let position = call.query("position").flatMap({ Int($0) }) else {
            throw OSSRefusal.badRequest("Append needs a position.")
        }
        guard position == object.content.size else {
            throw OSSRefusal(
                409, "PositionNotEqualToLength", "Position is not equal to file length", ec: "0026-00000016",
                details: [("x-oss-next-append-position", "\(object.content.size)")])
        }
        object.content.crc64 = cts_crc64_join(object.content.crc64, body.crc64, UInt64(body.size))
        object.content.size += body.size
        object.content.bytes =
            position == 0 ? body.bytes : object.content.bytes.flatMap { old in body.bytes.map { old + $0 } }
        object.etag = StoreText.hex(object.content.crc64)
        if position == 0 { object.timesStored += 1 }
        state.objects[name] = object
        return OSSReply(
            fields: [("ETag", "\"\(object.etag)\""), ("x-oss-next-append-position", "\(object.content.size)")],
            checksum: object.content.crc64)
    }

    private func head(_ state: OSSState, withBody: Bool) throws -> OSSReply {
        guard let object = state.objects[call.name!] else {
            throw OSSRefusal(
                404, "NoSuchKey", "The specified key does not exist.", ec: "0026-00000001",
                details: [("Key", call.key.text)])
        }
        var fields = [("ETag", "\"\(object.etag)\""), ("Accept-Ranges", "bytes")]
        if settings.dialect == .oss { fields.append(("x-oss-object-type", object.kind.rawValue)) }
        let metadata = settings.dialect.prefix + "meta-"
        fields += object.fields.filter { $0.key.hasPrefix(metadata) || $0.key.hasPrefix("content-") }
            .map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        if object.fields["content-type"] == nil { fields.append(("Content-Type", "application/octet-stream")) }
        if call.request.value(of: "x-amz-checksum-mode") == "ENABLED", let checksum = object.checksum {
            let type = checksum.value.contains("-") ? "COMPOSITE" : "FULL_OBJECT"
            fields += [(checksum.field, checksum.value), ("x-amz-checksum-type", type)]
        }
        guard withBody else {
            fields.append(("Content-Length", "\(object.content.size)"))
            return OSSReply(fields: fields, checksum: object.content.crc64)
        }
        guard let bytes = object.content.bytes else {
            throw OSSRefusal.badRequest("This store has kept only the digests of the object.")
        }
        return OSSReply(fields: fields, body: bytes, checksum: object.content.crc64)
    }

    private func listObjects(_ state: OSSState) -> OSSReply {
        let prefix = call.query("prefix") ?? ""
        let most = call.query("max-keys").flatMap { Int($0) } ?? 1_000
        let keys = state.keys(in: call.bucket ?? "").filter { $0.hasPrefix(prefix) }.prefix(most)
        let contents = keys.map { "  <Contents><Key>\(StoreText.xml($0))</Key></Contents>\n" }.joined()
        return .xml(
            "ListBucketResult",
            [("Name", call.bucket ?? ""), ("Prefix", prefix), ("KeyCount", "\(keys.count)")], inner: contents)
    }

    // MARK: What operations share

    /// Stores an object under its name.
    func add(_ object: OSSObject, _ name: ObjectName, to state: inout OSSState) {
        var object = object
        object.timesStored = (state.objects[name]?.timesStored ?? 0) + 1
        state.objects[name] = object
    }

    /// Returns the response to Put, Post and Complete. The body is the response of the callback server, if any.
    func reply(for object: OSSObject, _ callback: OSSCallback?) -> OSSReply {
        var reply = OSSReply(fields: [("ETag", "\"\(object.etag)\"")], checksum: object.content.crc64)
        if callback != nil {
            reply.calledBack = true
            reply.fields.append(("Content-Type", "application/json"))
            reply.body = Array(settings.callbackResponse.utf8)
        }
        return reply
    }

    func checkOverwrite(_ state: OSSState, _ name: ObjectName, _ forbids: String?) throws {
        guard let forbids, forbids.lowercased() == "true", state.objects[name] != nil else { return }
        throw OSSRefusal(
            409, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.",
            ec: "0026-00000058")
    }

    private func checkName() throws {
        guard let bucket = call.bucket else { return }
        let dot = settings.dialect == .s3 ? "." : ""
        let letters = Set("abcdefghijklmnopqrstuvwxyz0123456789-\(dot)".utf8)
        guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(letters.contains), !bucket.hasPrefix("-"),
            !bucket.hasSuffix("-")
        else {
            throw OSSRefusal(
                400, "InvalidBucketName", "The specified bucket is not valid.", ec: "0015-00000001",
                details: [("BucketName", bucket)])
        }
        guard settings.buckets?.contains(bucket) ?? true else {
            throw OSSRefusal(
                404, "NoSuchBucket", "The specified bucket does not exist.", ec: "0015-00000101",
                details: [("BucketName", bucket)])
        }
        if ![.postObject, .listObjects].contains(call.operation) { try checkKey(call.key) }
    }

    func checkKey(_ key: [UInt8]) throws {
        let isText = String(validating: key, as: UTF8.self) != nil
        let isS3 = settings.dialect == .s3
        guard isText, (1...(isS3 ? 1_024 : 1_023)).contains(key.count),
            isS3 || ![UInt8(ascii: "/"), UInt8(ascii: "\\")].contains(key[0])
        else {
            throw OSSRefusal(
                400, "InvalidObjectName", "The specified object is not valid.", ec: "0016-00000202",
                details: [("ObjectName", key.text)])
        }
    }

    private func checkMD5() throws {
        guard let md5 = call.request.filled("Content-MD5") else { return }
        try checkDigest(md5, body)
    }

    private func checkFields() throws {
        let request = call.request
        guard request.lines.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f } }) else {
            throw OSSRefusal.badRequest("A header field is not ASCII.")
        }
        try Self.check(
            acl: request.value(of: "x-oss-object-acl"), storageClass: request.value(of: "x-oss-storage-class"),
            trafficLimit: request.value(of: "x-oss-traffic-limit") ?? call.query("x-oss-traffic-limit"))
    }

    static func check(acl: String?, storageClass: String?, trafficLimit: String?) throws {
        if let acl, !["default", "private", "public-read", "public-read-write"].contains(acl) {
            throw OSSRefusal.badRequest("no such bucket access control exists: \(acl)")
        }
        let classes = ["Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"]
        if let storageClass, !classes.contains(storageClass) {
            throw OSSRefusal.badRequest("The storage class is not valid: \(storageClass)")
        }
        if let trafficLimit, !(819_200...838_860_800).contains(Int(trafficLimit) ?? 0) {
            throw OSSRefusal.badRequest("The traffic limit is out of range: \(trafficLimit)")
        }
    }

    /// Returns the fields of a request that are stored with an object.
    static func kept(_ fields: [String: String]) -> [String: String] {
        let standard: Set = [
            "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
        ]
        let passing: Set = [
            "x-oss-date", "x-oss-security-token", "x-oss-content-sha256", "x-oss-callback", "x-oss-callback-var",
            "x-amz-date", "x-amz-security-token", "x-amz-content-sha256",
        ]
        return fields.filter { name, _ in
            standard.contains(name)
                || (name.hasPrefix("x-oss-") || name.hasPrefix("x-amz-")) && !passing.contains(name)
        }
    }
}
