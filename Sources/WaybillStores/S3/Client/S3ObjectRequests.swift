import Crypto
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// The requests for one object by the protocol of S3. Parts have an MD5, which is their `ETag` at most stores.
struct S3ObjectRequests: ObjectRequests {
    let client: S3Client
    let bucket: String
    let key: String
    let options: S3ObjectOptions

    private var profile: S3Profile { client.configuration.profile }
    var caller: StoreCaller { client.caller }
    var checksum: RunningChecksum { .md5 }
    var limits: PartLimits {
        PartLimits(
            minimumSize: profile.minimumPartSize, maximumSize: profile.maximumPartSize,
            maximumCount: profile.maximumPartCount)
    }
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
        let hashed = ChecksummedBody(body, checksum)
        call.body = hashed
        call.size = size
        run.setTotal(size)
        run.enter(.sending)
        let find: @Sendable () async -> StoreCaller.LookupResult = {
            await self.lookUp(size: size, hashed.checksumText, run)
        }
        let done = call
        return try await StoreCaller.recoveringExistingObject(rejectedWith: objectExists, find) {
            () async throws(StoreError) in
            try await self.caller.make(
                done, run,
                checks: { response throws(StoreError) in
                    try self.compare(hashed.checksumText, withPart: response)
                }, lookUp: find)
        }
    }

    // MARK: Parts

    func initiationFields() throws(StoreError) -> HTTPFields { try options.fields(for: key, profile) }

    func partFields() throws(StoreError) -> HTTPFields { [:] }

    func completionFields() throws(StoreError) -> HTTPFields { try options.conditionFields(profile) }

    func prepare(_ call: inout StoreCall) async throws(StoreError) {
        // The SHA-256 of a part would have to be announced with the upload and repeated at its completion.
        let isPart = call.method == .put
        try await prepare(&call, isPart && client.configuration.checksum != nil ? .md5 : nil)
    }

    /// Throws if the `ETag` is an MD5 that differs from that of the bytes sent.
    func compare(_ checksum: String?, withPart response: UploadResponse) throws(StoreError) {
        guard profile.hasMD5ETags, let ours = checksum, let theirs = Self.hash(in: response),
            theirs.utf8.count == ours.utf8.count, theirs != ours
        else { return }
        throw StoreError(
            .checksumMismatch, "Checksum mismatch: the store reports the MD5 \(theirs), expected \(ours).",
            outcome: .rejected)
    }

    /// Does nothing: the store has assembled the object from parts whose `ETag` was compared.
    func compare(_ checksum: String?, withObject response: UploadResponse) throws(StoreError) {}

    /// Returns the `ETag` that stores give to an object in parts: the MD5 of their MD5s, and their number.
    func wholeChecksum(of parts: [PartReceipt]) -> String? {
        var whole = Insecure.MD5()
        for part in parts {
            guard let digits = part.checksum.map({ Array($0.utf8) }), digits.count == 32 else { return nil }
            whole.update(
                data: stride(from: 0, to: 32, by: 2).compactMap { index in
                    UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
                })
        }
        return "\(MessageAuthentication.hexadecimal(Array(whole.finalize())))-\(parts.count)"
    }

    func lookUp(size: Int64, _ checksum: String?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
        do throws(StoreError) {
            let response = try await caller.make(StoreCall(.head, bucket: bucket, key: key), run).response
            guard S3ObjectInfo(response).size == size else { return .notDone }
            let theirs = Self.hash(in: response)
            if let checksum, theirs == checksum { return .done(response) }
            // Another hash proves that the object is another one; an ETag that is no hash proves nothing.
            if profile.hasMD5ETags, checksum != nil, theirs != nil { return .notDone }
            return .unknown(
                StoreError(
                    .rejected, "An object of the same size is stored, and its ETag is not comparable.",
                    outcome: .unknown))
        } catch  where error.status == 404 {
            return .notDone
        } catch {
            return .unknown(error)
        }
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
        var (md5, sha256) = (Insecure.MD5(), SHA256())
        let usesSHA256 = signsPayload || checksum == .sha256
        do throws(BodyError) {
            try await body.read { bytes in
                if checksum == .md5 { md5.update(data: bytes) }
                if usesSHA256 { sha256.update(data: bytes) }
            }
        } catch {
            throw StoreError(error)
        }
        let hash = Array(sha256.finalize())
        if signsPayload { call.payloadHash = MessageAuthentication.hexadecimal(hash) }
        switch checksum {
        case .md5: call.headers[.contentMD5] = MessageAuthentication.base64(Array(md5.finalize()))
        case .sha256: call.headers[.s3ChecksumSHA256] = MessageAuthentication.base64(hash)
        case nil: break
        }
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
