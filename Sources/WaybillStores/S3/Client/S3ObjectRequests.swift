import Crypto
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// The requests for one object by the protocol of S3. Parts have the configured checksum, or else an MD5, which is their
/// `ETag` at most stores.
struct S3ObjectRequests: ObjectRequests {
    let client: S3Client
    let bucket: String
    let key: String
    let options: S3ObjectOptions

    private var profile: S3Profile { client.configuration.profile }
    var caller: StoreCaller { client.caller }
    /// The configured checksum; `nil` for none and for an MD5, which has no field in responses.
    private var named: S3Checksum? { client.configuration.checksum.flatMap { $0 == .md5 ? nil : $0 } }
    var checksum: RunningChecksum { named?.running ?? .md5 }
    var checksumName: String? { named?.rawValue }
    var checksumElement: String? { named?.element }
    var limits: PartLimits { profile.limits }
    var objectExists: String { "PreconditionFailed" }

    func check() throws(StoreError) {
        try S3Name.checkKey(key)
        _ = try client.service.url(bucket: bucket, key: key)
        _ = try options.fields(for: key, profile)
    }

    func put(_ body: any UploadBody, _ run: ObjectRun) async throws(StoreError) -> StoreCaller.CallResult {
        guard let size = body.length else {
            throw StoreError(
                .invalidArgument, "The protocol of S3 requires the length of a stream. Pass it with the stream.")
        }
        guard size <= profile.maximumSinglePut.bytes else {
            throw StoreError(
                .objectTooLarge,
                "The object has \(size) bytes, more than \(profile.name) accepts in a single request "
                    + "(\(profile.maximumSinglePut.bytes)).")
        }
        var call = StoreCall(.put, bucket: bucket, key: key)
        call.headers = try options.fields(for: key, profile).adding(try options.conditionFields(profile))
        call.body = body
        try await prepare(&call, client.configuration.checksum)
        let sent = named.flatMap { call.headers[$0.field] }
        let hashed = ChecksummedBody(body, .md5)
        call.body = hashed
        call.size = size
        run.setTotal(size)
        run.enter(.sending)
        return try await caller.make(
            call, run,
            checks: { response throws(StoreError) in
                try self.compare(sent, named.flatMap { response.headers[$0.field] })
                if profile.hasMD5ETags { try self.compare(hashed.checksumText, Self.hash(in: response)) }
            }, existing: objectExists,
            lookUp: { await self.lookUp(size: size, sent ?? hashed.checksumText, run) })
    }

    // MARK: Parts

    func initiationFields() throws(StoreError) -> HTTPFields {
        var fields = try options.fields(for: key, profile)
        if let named { fields[.s3ChecksumAlgorithm] = named.algorithm }
        // The other type is the default, and not every store knows the field.
        if let named, named.coversObject { fields[.s3ChecksumType] = "FULL_OBJECT" }
        return fields
    }

    func partFields() throws(StoreError) -> HTTPFields { customerKey }

    func completionFields(_ checksum: String?) throws(StoreError) -> HTTPFields {
        var fields = try options.conditionFields(profile)
        if let named, named.coversObject, let checksum {
            fields[named.field] = checksum
            fields[.s3ChecksumType] = "FULL_OBJECT"
        }
        return fields
    }

    /// Names the checksum of each part, which Amazon S3 requires if the upload was begun with one.
    func completion(of parts: [PartReceipt]) -> [UInt8] {
        MultipartXML.completion(of: parts, checksum: checksumElement)
    }

    func prepare(_ call: inout StoreCall) async throws(StoreError) {
        try await prepare(&call, call.method == .put ? client.configuration.checksum : nil)
    }

    /// Throws if the response has a checksum, or else an `ETag` that is an MD5, which differs from that of the bytes
    /// sent.
    func compare(_ checksum: String?, withPart response: UploadResponse) throws(StoreError) {
        let hash = named == nil && profile.hasMD5ETags ? Self.hash(in: response) : nil
        try compare(checksum, named.flatMap { response.headers[$0.field] } ?? hash)
    }

    /// Throws if the response has a checksum of the object that differs from that of its parts.
    func compare(_ checksum: String?, withObject response: UploadResponse) throws(StoreError) {
        guard let named else { return }
        let listed = (try? BoundedXMLParser.read(response.body))?[named.element]
        try compare(checksum, response.headers[named.field] ?? listed)
    }

    /// Throws if both checksums are known and differ. Checksums of another form, such as those with a number of parts,
    /// are not compared.
    private func compare(_ ours: String?, _ theirs: String?) throws(StoreError) {
        guard let ours, let theirs, theirs.utf8.count == ours.utf8.count, theirs != ours else { return }
        let name = named?.algorithm ?? "MD5"
        throw StoreError(
            .checksumMismatch, "Checksum mismatch: the store reports the \(name) \(theirs), expected \(ours).",
            outcome: .rejected)
    }

    func headFields() -> HTTPFields { customerKey.adding(named == nil ? [:] : [.s3ChecksumMode: "ENABLED"]) }

    /// The fields of a key for the encryption that is not stored. Each request for the object needs them.
    private var customerKey: HTTPFields {
        HTTPFields(options.headers.filter { $0.name.canonicalName.hasPrefix("x-amz-server-side-encryption-customer-") })
    }

    func matches(_ checksum: String?, _ response: UploadResponse) -> Bool? {
        guard let checksum else { return nil }
        if let named {
            guard let theirs = response.headers[named.field] else { return nil }
            return theirs == checksum
        }
        guard let theirs = Self.hash(in: response) else { return nil }
        // Another hash proves that the object is another one; an ETag that is no hash proves nothing.
        let isHash = checksum.contains("-") ? profile.hasMD5PartETags : profile.hasMD5ETags
        return theirs == checksum ? true : isHash ? false : nil
    }

    // MARK: Digests

    /// Reads the body in advance for the checksum that is sent, and for the hash that protects it without TLS.
    private func prepare(_ call: inout StoreCall, _ checksum: S3Checksum?) async throws(StoreError) {
        guard let body = call.body else { return }
        let signsPayload = !client.service.address.isEncrypted && body.isReplayable
        guard signsPayload || checksum != nil else { return }
        guard body.isReplayable else {
            throw StoreError(
                .bodyNotReplayable, "A checksum in advance needs a content that can be read twice. Use a file.")
        }
        var (sum, sha256) = (checksum?.running, SHA256())
        do throws(BodyError) {
            try await body.read { bytes in
                unsafe bytes.withUnsafeBytes { unsafe sum?.update($0) }
                if signsPayload { sha256.update(data: bytes) }
            }
        } catch {
            throw StoreError(error)
        }
        if signsPayload { call.payloadHash = MessageAuthentication.hexadecimal(Array(sha256.finalize())) }
        if let checksum, let sum { call.headers[checksum.field] = MessageAuthentication.base64(sum.digest) }
    }

    /// Returns the `ETag` if it can be the hash of the object: 32 hexadecimal digits, for an object in parts with their
    /// number, and no encryption that changes it.
    static func hash(in response: UploadResponse) -> String? {
        let fields = response.headers
        guard fields[.s3CustomerAlgorithm] == nil, ["AES256", nil].contains(fields[.s3Encryption]) else { return nil }
        let text = (fields[.eTag] ?? "").filter { $0 != "\"" }.lowercased()
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "-") }
        let isHexadecimal = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return digits.count == 32 && isHexadecimal ? text : nil
    }
}
