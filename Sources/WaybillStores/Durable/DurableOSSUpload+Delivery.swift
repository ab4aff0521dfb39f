import HTTPTypes
public import Waybill
import WaybillCore
import WaybillMultipart

extension DurableOSSUpload {
    /// Uploads the object. Parts that the store has from an earlier attempt are not sent again.
    ///
    /// The file is checked for changes before the first byte, before the last byte of each request, and before the
    /// upload is completed. Within the attempt, a wrong clock is corrected and credentials are renewed at most once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let examined = try await delivery.source(source)
        do throws(StoreError) {
            let client = try client(delivery)
            let upload = self
            let recordStore = DeliveryRecordStore(delivery)
            return try await delivery.run(isEncrypted: client.configuration.endpoint.isEncrypted) {
                run throws(StoreError) in
                guard let examined else {
                    let body = DataBody(upload.source.pending ?? [])
                    return try await client.store(body, to: upload.key, in: upload.bucket, upload.options, run).response
                }
                var file = client.fileUpload(examined.path, to: upload.key, in: upload.bucket, upload.options)
                (file.source, file.recordStore) = (examined, recordStore)
                return try await file.perform(run).result.response
            }
        } catch {
            if error.isStored, let response = (error.cause as? UploadError)?.response { return response }
            throw UploadError(error, attempt: delivery.attempt)
        }
    }

    /// Queries the store for the parts, then for an object with the size and the CRC-64 of the file.
    ///
    /// - ``/Waybill/DeliveryVerdict/resume(_:)`` while the store lists the parts: the list ends with the completion, so
    ///   the object was not created.
    /// - ``/Waybill/DeliveryVerdict/delivered(_:)`` if the object exists. Any object with the same bytes counts,
    ///   regardless of the client that stored it; the response of a callback is lost.
    /// - ``/Waybill/DeliveryVerdict/absent`` if there is no object, or a different one: the upload can be repeated, and
    ///   leaves one object even if it is stored twice. In a bucket with versioning, it leaves two versions.
    /// - ``/Waybill/DeliveryVerdict/undetermined`` if an object of this size exists but the file has changed, so that
    ///   nothing can be compared. Also if the account has no permission to query, and a repeated upload would call the
    ///   callback twice or fail because of its own first request (``OSSObjectOptions/forbidsOverwrite``).
    ///
    /// The file is read only if an object of its size exists and the checksums of the parts are not all known.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        let record = delivery.record(endpoint: sending.endpoint, bucket: bucket, key: key)
        do throws(StoreError) {
            let client = try client(delivery)
            let upload = self
            return try await delivery.run(isEncrypted: client.configuration.endpoint.isEncrypted) {
                run throws(StoreError) in
                if let record, let resume = delivery.resume, try await upload.isOpen(record, client, run) {
                    return .resume(resume)
                }
                return try await upload.lookUpObject(record, client, run)
            }
        } catch {
            if error.status == 403, error.storeCode == "AccessDenied" {
                return options.callback == nil && !options.forbidsOverwrite ? .repeatable : .undetermined
            }
            throw UploadError(error, attempt: delivery.attempt)
        }
    }

    private func client(_ delivery: Delivery) throws(StoreError) -> AliyunOSSClient {
        let configuration = try sending.configuration(delivery, isInParts: isInParts)
        let provider = delivery.credentials.ossAccount(credential)
        let clock = { StoreClock(now: configuration.now) }
        let shared = (delivery.credentials as? StoreAccounts)?.clock(of: sending.endpoint, clock)
        return try AliyunOSSClient(
            configuration: configuration, credentials: provider, session: delivery.session, clock: shared ?? clock())
    }

    /// Whether the store still knows the multipart upload.
    private func isOpen(
        _ record: ResumeRecord, _ client: AliyunOSSClient, _ run: ObjectRun
    ) async throws(StoreError) -> Bool {
        var call = StoreCall(.get, bucket: bucket, key: key)
        call.query = [StoreQueryItem("uploadId", record.uploadID), StoreQueryItem("max-parts", "1")]
        do throws(StoreError) {
            _ = try MultipartXML.parts(in: try await client.make(call, run).response, checksum: nil)
            return true
        } catch  where error.code == .uploadGone {
            return false
        }
    }

    private func lookUpObject(
        _ record: ResumeRecord?, _ client: AliyunOSSClient, _ run: ObjectRun
    ) async throws(StoreError) -> DeliveryVerdict {
        let response: UploadResponse
        do throws(StoreError) {
            response = try await client.make(StoreCall(.head, bucket: bucket, key: key), run).response
        } catch  where error.status == 404 && error.storeCode != "NoSuchBucket" {
            return .absent
        }
        let info = OSSObjectInfo(response)
        guard let theirs = info.checksum, info.size == source.count else { return .absent }
        guard let ours = await checksum(record) else { return .undetermined }
        return theirs == ours ? .delivered(response) : .absent
    }

    /// Returns the checksum of the file, from those of its parts or from the disk; `nil` if neither is available any
    /// more.
    private func checksum(_ record: ResumeRecord?) async -> UInt64? {
        if let bytes = source.pending { return CRC64(of: bytes).value }
        if let whole = record?.wholeChecksum(of: source.count) { return whole }
        guard let stamp = source.stamp else { return nil }
        do {
            let file = try await SourceFile.look(at: source.path)
            try await source.check()
            return try await FileBody.checksum(of: 0..<stamp.size, in: file, .crc64).value
        } catch {
            return nil
        }
    }
}

extension ResumeRecord {
    /// The CRC-64 of the whole object, if the record contains all of its parts.
    fileprivate func wholeChecksum(of size: Int64?) -> UInt64? {
        let parts = parts.sorted { $0.number < $1.number }
        guard parts.map(\.number) == Array(1..<parts.count + 1), parts.reduce(0, { $0 + $1.size }) == size else {
            return nil
        }
        return RunningChecksum.crc64.whole(of: parts).flatMap { UInt64($0) }
    }
}
