import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

// The delivery of an object to OSS or a store of S3. The stores differ only in the requests of the upload.

extension Delivery {
    /// Uploads a file, or the bytes that a queue has not written to a file yet.
    func deliver(
        _ file: DurableFile, _ make: () throws(StoreError) -> FileUpload
    ) async throws(UploadError) -> UploadResponse {
        let examined = try await source(file)
        do throws(StoreError) {
            var prepared = try make()
            (prepared.source, prepared.recordStore) = (examined, DeliveryRecordStore(self))
            let upload = prepared
            return try await run(isEncrypted: upload.isEncrypted) { run throws(StoreError) in
                guard examined == nil else { return try await upload.perform(run).result.response }
                return try await upload.object.put(DataBody(file.pending ?? []), run).response
            }
        } catch {
            if error.isStored, let response = (error.cause as? UploadError)?.response { return response }
            throw UploadError(error, attempt: attempt)
        }
    }

    /// Queries the store for the parts, then for an object with the size and the checksum of the file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - isRepeatable: Whether the upload can be repeated without harm if the account may not query the store.
    ///   - make: Creates the upload, which is not begun.
    /// - Returns: The verdict.
    /// - Throws: The error of a query that can be repeated.
    func verify(
        _ file: DurableFile, isRepeatable: Bool, _ make: () throws(StoreError) -> FileUpload
    ) async throws(UploadError) -> DeliveryVerdict {
        do throws(StoreError) {
            let upload = try make()
            let record = record(
                endpoint: upload.endpoint, bucket: upload.object.bucket, key: upload.object.key)
            return try await run(isEncrypted: upload.isEncrypted) { [resume] run throws(StoreError) in
                if let record, let resume, try await upload.isOpen(record, run) { return .resume(resume) }
                return try await upload.verdict(on: file, record, run)
            }
        } catch {
            // The response of S3 to HEAD has no code.
            if error.status == 403, ["AccessDenied", nil].contains(error.storeCode) {
                return isRepeatable ? .repeatable : .undetermined
            }
            throw UploadError(error, attempt: attempt)
        }
    }
}

extension FileUpload {
    fileprivate var isEncrypted: Bool { endpoint.utf8.starts(with: "https:".utf8) }

    /// Whether the store still knows the multipart upload.
    fileprivate func isOpen(_ record: ResumeRecord, _ run: ObjectRun) async throws(StoreError) -> Bool {
        var call = StoreCall(.get, bucket: object.bucket, key: object.key)
        call.query = [StoreQueryItem("uploadId", record.uploadID), StoreQueryItem("max-parts", "1")]
        do throws(StoreError) {
            _ = try MultipartXML.parts(in: try await object.caller.make(call, run).response, checksum: nil)
            return true
        } catch  where error.code == .uploadGone {
            return false
        }
    }

    fileprivate func verdict(
        on file: DurableFile, _ record: ResumeRecord?, _ run: ObjectRun
    ) async throws(StoreError) -> DeliveryVerdict {
        guard let size = file.count, let response = try await object.head(size: size, run) else { return .absent }
        guard let ours = await checksum(of: file, size, record) else { return .undetermined }
        return switch object.matches(ours, response) {
        case true?: .delivered(response)
        case false?: .absent
        case nil: .undetermined
        }
    }

    /// Returns the checksum of the object, from those of its parts or from the disk; `nil` if neither is available any
    /// more.
    private func checksum(of file: DurableFile, _ size: Int64, _ record: ResumeRecord?) async -> String? {
        if let bytes = file.pending {
            var sum = object.checksum
            unsafe bytes.withUnsafeBytes { unsafe sum.update($0) }
            return sum.text
        }
        let recorded = (record?.parts ?? []).sorted { $0.number < $1.number }
        if !recorded.isEmpty, recorded.map(\.number) == Array(1...recorded.count),
            recorded.reduce(0, { $0 + $1.size }) == size, let whole = object.checksum.whole(of: recorded)
        {
            return whole
        }
        do {
            let source = try await SourceFile.look(at: file.path)
            try await file.check()
            guard isInParts(size) else {
                return try await FileBody.checksum(of: 0..<size, in: source, object.checksum).text
            }
            let plan = try plan(for: size)
            var parts: [PartReceipt] = []
            for number in plan.numbers {
                let sum = try await FileBody.checksum(of: plan.range(of: number), in: source, object.checksum)
                parts.append(
                    PartReceipt(number: number, size: plan.size(of: number), tag: "", checksum: sum.text))
            }
            return object.checksum.whole(of: parts)
        } catch {
            return nil
        }
    }
}
