import Crypto
import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore
import WaybillMultipart

extension S3Client {
    /// Uploads an object in a single request and waits for the response. Stores accept at most 5 GiB.
    ///
    /// Cancelling the surrounding task cancels the upload.
    ///
    /// - Parameters:
    ///   - content: A file, bytes or a stream of known length.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and condition of the object.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``; its store code is `PreconditionFailed` if the condition was not met.
    @discardableResult
    public func put(
        _ content: UploadContent, to key: String, in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions()
    ) async throws(StoreError) -> S3StoredObject {
        try await startPut(content, to: key, in: bucket, options: options).value
    }

    /// Starts uploading an object in a single request and immediately returns the handle. ``ObjectUpload/value`` throws
    /// the error for an invalid argument.
    @discardableResult
    public func startPut(
        _ content: UploadContent, to key: String, in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions()
    ) -> ObjectUpload<S3StoredObject> {
        ObjectUpload { run throws(StoreError) in
            let body = try await content.objectBody()
            var options = options
            options.contentType = options.contentType ?? content.statedType(of: body)
            return try await self.put(body, to: key, in: self.bucket(bucket), options, run)
        }
    }

    private func put(
        _ content: any UploadBody, to key: String, in bucket: String, _ options: S3ObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> S3StoredObject {
        guard let size = content.length else {
            throw StoreError(
                .invalidArgument, "The protocol of S3 requires the length of a stream. Pass it with the stream.")
        }
        guard size <= configuration.profile.maximumSinglePut.bytes else {
            throw StoreError(
                .objectTooLarge,
                "The object has \(size) bytes, more than \(configuration.profile.name) accepts in a single request "
                    + "(\(configuration.profile.maximumSinglePut.bytes)).")
        }
        let url = try service.url(bucket: bucket, key: key)
        let body = ChecksummedBody(content, .md5)
        var call = StoreCall(.put, bucket: bucket, key: key)
        call.headers = try options.fields(for: key, configuration.profile)
        try await addDigests(of: content, to: &call)
        call.body = body
        call.size = size
        run.setTotal(size)
        run.enter(.sending)
        let find: @Sendable () async -> StoreCaller.LookupResult = {
            await self.look(for: key, in: bucket, size: size, md5: body.md5Text, run)
        }
        let done = call
        let result = try await StoreCaller.recoveringExistingObject(rejectedWith: "PreconditionFailed", find) {
            () async throws(StoreError) in
            try await self.caller.make(
                done, run, checks: { response throws(StoreError) in try self.compare(body.md5Text, with: response) },
                lookUp: find)
        }
        return S3StoredObject(bucket: bucket, key: key, url: url, result)
    }

    /// Reads the content in advance for the checksum that is sent, and for the hash that protects it without TLS.
    private func addDigests(of body: any UploadBody, to call: inout StoreCall) async throws(StoreError) {
        let signsPayload = !service.address.isEncrypted && body.isReplayable
        guard signsPayload || configuration.checksum != nil else { return }
        guard body.isReplayable else {
            throw StoreError(
                .bodyNotReplayable, "A checksum in advance needs a content that can be read twice. Use a file.")
        }
        var (md5, sha256) = (Insecure.MD5(), SHA256())
        let usesMD5 = configuration.checksum == .md5
        let usesSHA256 = signsPayload || configuration.checksum == .sha256
        do throws(BodyError) {
            try await body.read { bytes in
                if usesMD5 { md5.update(data: bytes) }
                if usesSHA256 { sha256.update(data: bytes) }
            }
        } catch {
            throw StoreError(error)
        }
        let hash = Array(sha256.finalize())
        if signsPayload { call.payloadHash = MessageAuthentication.hexadecimal(hash) }
        switch configuration.checksum {
        case .md5: call.headers[.contentMD5] = MessageAuthentication.base64(Array(md5.finalize()))
        case .sha256: call.headers[.s3ChecksumSHA256] = MessageAuthentication.base64(hash)
        case nil: break
        }
    }

    /// Throws if the `ETag` is an MD5 that differs from that of the bytes sent.
    private func compare(_ ours: String?, with response: UploadResponse) throws(StoreError) {
        guard configuration.profile.hasMD5ETags, let ours, let theirs = Self.md5(in: response), theirs != ours else {
            return
        }
        throw StoreError(
            .checksumMismatch, "Checksum mismatch: the store reports the MD5 \(theirs), expected \(ours).",
            outcome: .rejected)
    }

    /// Checks whether the store has an object of this size and MD5.
    private func look(
        for key: String, in bucket: String, size: Int64, md5: String?, _ run: ObjectRun
    ) async -> StoreCaller.LookupResult {
        do throws(StoreError) {
            let response = try await caller.make(StoreCall(.head, bucket: bucket, key: key), run).response
            guard S3ObjectInfo(response).size == size else { return .notDone }
            let theirs = Self.md5(in: response)
            if let md5, theirs == md5 { return .done(response) }
            // Another MD5 proves that the object is another one; an ETag that is no MD5 proves nothing.
            if configuration.profile.hasMD5ETags, md5 != nil, theirs != nil { return .notDone }
            return .unknown(
                StoreError(
                    .rejected, "An object of the same size is stored, and its ETag is not an MD5.", outcome: .unknown))
        } catch  where error.status == 404 {
            return .notDone
        } catch {
            return .unknown(error)
        }
    }

    /// Returns the `ETag` if it can be the MD5 of the object: 32 hexadecimal digits, and no encryption that changes it.
    private static func md5(in response: UploadResponse) -> String? {
        let fields = response.headers
        guard fields[.s3CustomerAlgorithm] == nil, ["AES256", nil].contains(fields[.s3Encryption]) else { return nil }
        let digits = (fields[.eTag] ?? "").filter { $0 != "\"" }.lowercased()
        let isHexadecimal = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return digits.utf8.count == 32 && isHexadecimal ? digits : nil
    }
}
