import FoundationEssentials
import HTTPTypes
public import Waybill
import WaybillCore
import WaybillMultipart

extension AliyunOSSClient {
    /// Appends to an appendable object, or creates one.
    ///
    /// - Parameters:
    ///   - content: The content to append.
    ///   - key: The object key.
    ///   - position: The present length of the object; 0 to create it. It is the `OSSStoredObject.nextPosition` of the
    ///     previous append.
    ///   - checksum: The CRC-64 of the present object, used to verify the whole object after the append. It is the
    ///     `OSSStoredObject.checksum` of the previous append. If it is `nil` and `position` is not 0, nothing is
    ///     verified, and the outcome of an append without a response stays unknown.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata and so on. They are used only when the object is created.
    /// - Returns: The object after the append.
    /// - Throws: ``StoreError``; its store code is `PositionNotEqualToLength` if another client has appended.
    @discardableResult
    public func append(
        _ content: UploadContent, to key: String, at position: Int64, continuing checksum: UInt64? = nil,
        in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await ObjectUpload { run throws(StoreError) in
            let body = try await content.objectBody()
            var options = options
            options.contentType = options.contentType ?? content.statedType(of: body)
            return try await self.append(
                body, to: key, at: position, continuing: position == 0 ? 0 : checksum,
                in: self.bucket(bucket), options, run)
        }.value
    }
}

extension AliyunOSSClient: ObjectStore {
    /// The requests of OSS.
    public var operations: ObjectOperations<OSSObjectOptions, OSSStoredObject> { ObjectOperations(store: self) }

    var endpointText: String { configuration.endpoint.text }
    var fieldPrefix: String { "x-oss-" }

    func requests(for key: String, in bucket: String, _ options: OSSObjectOptions) -> OSSObjectRequests {
        OSSObjectRequests(client: self, bucket: bucket, key: key, options: options)
    }

    func stored(
        _ result: StoreCaller.CallResult, of object: OSSObjectRequests, _ beginning: OSSStoredObject.Beginning
    ) -> OSSStoredObject {
        let endpoint = configuration.publicEndpoint ?? configuration.endpoint
        let url = (try? endpoint.url(bucket: object.bucket, key: object.key)) ?? ""
        return OSSStoredObject(url: url, result, of: object, beginning)
    }

    private func append(
        _ body: any UploadBody, to key: String, at position: Int64, continuing checksum: UInt64?, in bucket: String,
        _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        guard (0...(1 << 60)).contains(position), options.callback == nil, !options.forbidsOverwrite else {
            throw StoreError(
                .invalidArgument,
                "An append supports neither callbacks nor overwrite protection, and its position must be at least 0.")
        }
        let body = ChecksummedBody(body)
        let whole: @Sendable () -> UInt64? = {
            guard let checksum, let sent = body.whole else { return nil }
            return CRC(.ecma, continuing: checksum).appending(sent.checksum, count: sent.count).value
        }
        var call = StoreCall(.post, bucket: bucket, key: key)
        call.query = [StoreQueryItem("append"), StoreQueryItem("position", String(position))]
        call.headers = try options.limitFields()
        if position == 0 { call.headers = try options.fields(for: key).adding(call.headers) }
        call.body = body
        call.size = body.length ?? 0
        run.setTotal(body.length)
        run.enter(.sending)
        let end: @Sendable () -> Int64? = { body.whole.map { position + $0.count } }
        do throws(StoreError) {
            let result = try await caller.make(
                call, run,
                lookUp: { await self.look(for: key, in: bucket, size: end(), whole(), run, before: position) })
            try compare(whole(), with: result.response)
            return stored(result, of: requests(for: key, in: bucket, options), .whole)
        } catch  where error.storeCode == "PositionNotEqualToLength" {
            // An earlier attempt may have been applied although its response was an error.
            guard case .done(let response) = await look(for: key, in: bucket, size: end(), whole(), run) else {
                throw error
            }
            let result = StoreCaller.CallResult(response: response, wasFound: true)
            return stored(result, of: requests(for: key, in: bucket, options), .whole)
        }
    }

    /// Throws if the checksum in the response differs from that of the bytes sent.
    func compare(_ ours: UInt64?, with response: UploadResponse) throws(StoreError) {
        guard configuration.comparesChecksums, let ours,
            let theirs = response.headers[.ossChecksum].flatMap({ UInt64($0) }), theirs != ours
        else { return }
        throw StoreError(checksums: ours, theirs, response)
    }

    /// Checks whether the store has an object of this size and checksum. `before` is the size of the object before an
    /// append; an object of this size proves that the append was not applied.
    func look(
        for key: String, in bucket: String, size: Int64?, _ checksum: UInt64?, _ run: ObjectRun, before: Int64? = nil
    ) async -> StoreCaller.LookupResult {
        do throws(StoreError) {
            let call = StoreCall(.head, bucket: bucket, key: key)
            let response = try await caller.make(call, run).response
            let info = OSSObjectInfo(response)
            if let checksum, info.checksum == checksum, size == nil || info.size == size { return .done(response) }
            guard let before else { return .notDone }
            if info.size == before { return .notDone }
            return .unknown(
                StoreError(
                    .rejected, "The length of the object is neither that before the append nor that after it.",
                    outcome: .unknown))
        } catch  where error.status == 404 && error.storeCode != "NoSuchBucket" {
            return .notDone
        } catch {
            return .unknown(error)
        }
    }
}

extension HTTPFields {
    /// Returns these fields merged with others; the others take precedence.
    func adding(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }
}
