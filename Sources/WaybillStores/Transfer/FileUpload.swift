import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// The upload of a file: a single request if it is small, otherwise parts, resumed from its record if there is one.
struct FileUpload: Sendable {
    let object: any ObjectRequests
    let path: String
    /// The endpoint in the identity of a record.
    let endpoint: String
    let settings: any ObjectStoreConfiguration
    let multipart: OSSMultipartOptions
    /// The opened source, if the caller has examined the file already.
    var source: SourceFile?
    /// The storage of the upload's record; `nil` for the directory of the client.
    var recordStore: (any ResumeRecordStore)?

    /// A stored object: the response, and how the upload began.
    typealias UploadResult = (result: StoreCaller.CallResult, beginning: OSSStoredObject.Beginning)

    func perform(_ run: ObjectRun) async throws(StoreError) -> UploadResult {
        try object.check()
        let path = try AbsolutePath.of(path)
        var examined = source
        if examined == nil { examined = try await SourceFile.look(at: path) }
        guard let source = examined else { preconditionFailure("The file must have been examined.") }
        let size = source.stamp.size
        run.setTotal(size)
        if multipart.skipsSame, let response = try await object.sameObject(as: source, run) {
            run.addStored(bytes: size)
            return (StoreCaller.CallResult(response: response, wasSame: true), .whole)
        }
        guard isInParts(size) else {
            let body = try FileBody.range(0..<size, of: source)
            return (try await object.put(body, run), .whole)
        }
        let plan = try plan(for: size)
        var subject = ResumeSubject(
            endpoint: endpoint, bucket: object.bucket, key: object.key, source: source, path: path,
            partSize: plan.partSize)
        subject.checksum = object.checksumName
        subject.options = try object.initiationFields().digest
        if let recordStore {
            subject.clearDevice()
            return try await uploadParts(source, plan, (recordStore, subject), run)
        }
        guard multipart.resumes, let folder = settings.records else {
            return try await uploadParts(source, plan, nil, run)
        }
        let claim = try await folder.claim(subject)
        defer { claim.close() }
        return try await uploadParts(source, plan, (claim, subject), run)
    }

    /// Whether a file of a size is uploaded in parts.
    func isInParts(_ size: Int64) -> Bool {
        size > max(0, (multipart.singleRequestLimit ?? settings.singleRequestLimit).bytes)
    }

    /// Returns the division of a file into parts.
    func plan(for size: Int64) throws(StoreError) -> PartPlan {
        try PartPlan(
            objectSize: size, preferredPartSize: multipart.partSize ?? settings.partSize, limits: object.limits)
    }

    /// Discards the record of an upload and the parts that the store has.
    func forget(_ run: ObjectRun) async throws(StoreError) {
        guard let folder = settings.records else { return }
        let path = try AbsolutePath.of(path)
        let subject = ResumeSubject(
            endpoint: endpoint, bucket: object.bucket, key: object.key, path: path)
        let claim = try await folder.claim(subject)
        defer { claim.close() }
        let found = try await claim.load(subject, at: Int64(StoreDate.seconds(settings.now())))
        if case .unusable(_, let record?) = found { try await object.abort(record.uploadID, run) }
        await claim.remove()
    }

    // MARK: Parts

    private func uploadParts(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any ResumeRecordStore, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> UploadResult {
        do throws(StoreError) {
            return try await attempt(source, plan, record, run)
        } catch  where error.code == .uploadGone || error.code == .checksumMismatch {
            // The store no longer knows the upload, or has assembled other bytes. Restart once from the first byte.
            run.forget()
            await record?.claim.remove()
            do throws(StoreError) {
                return try await attempt(source, plan, record, run)
            } catch let second {
                var second = second
                second.message += " The upload was already restarted once."
                throw second
            }
        }
    }

    private func attempt(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any ResumeRecordStore, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> UploadResult {
        run.enter(.starting)
        let (upload, listed, beginning) = try await begin(source, plan, record, run)
        if let found = listed.found {
            await record?.claim.finish()
            return (StoreCaller.CallResult(response: found, wasFound: true), beginning)
        }
        do throws(StoreError) {
            run.enter(.sending)
            let receipts = try await MultipartSender(store: upload, run: run).send(
                plan, listed: listed.parts,
                maximumConcurrentParts: multipart.maximumConcurrentParts ?? settings.maximumConcurrentParts)
            try await check(source)
            // If this process is killed, a later run finds the upload gone and identifies the object by all part
            // checksums.
            await upload.flush()
            let result = try await upload.complete(receipts, run)
            await record?.claim.finish()
            return (result, beginning)
        } catch {
            if error.isStored {
                await record?.claim.finish()
            } else {
                // Corrupt parts are of no use to a later run either.
                let isResumable = record != nil && error.code != .checksumMismatch
                await cleanUp(upload, isResumable: isResumable)
                if !isResumable { await record?.claim.remove() }
            }
            throw error
        }
    }

    private struct Listed {
        var parts: [PartReceipt] = []
        /// The response for the object, if it turned out to be stored already.
        var found: UploadResponse?
    }

    private func begin(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any ResumeRecordStore, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> (MultipartUpload, Listed, OSSStoredObject.Beginning) {
        guard let (claim, subject) = record else {
            let id = try await initiate(run)
            return (upload(id, source, plan, nil, nil), Listed(), .fresh)
        }
        var beginning = OSSStoredObject.Beginning.fresh
        switch try await claim.load(subject, at: Int64(StoreDate.seconds(settings.now()))) {
        case .none: break
        case .usable(let found):
            let upload = upload(found.uploadID, source, plan, claim, found)
            do throws(StoreError) {
                let parts = try await upload.partsToKeep(run)
                return (upload, Listed(parts: parts), .resumed(parts: parts.count))
            } catch  where error.code == .uploadGone {
                if let response = await completedObject(upload, found, plan, run) {
                    return (upload, Listed(found: response), .resumed(parts: found.parts.count))
                }
                beginning = .afterDiscarding("the store no longer knows the upload")
            }
        case .unusable(let reason, let old):
            beginning = .afterDiscarding(reason)
            // Abandoned parts would keep costing the owner storage fees.
            if let old { try? await object.abort(old.uploadID, run) }
        }
        let id = try await initiate(run)
        let fresh = ResumeRecord(subject: subject, uploadID: id)
        // Save before the first part is sent, so that every part belongs to a recorded upload.
        try await claim.save(fresh)
        return (upload(id, source, plan, claim, fresh), Listed(), beginning)
    }

    /// Returns the object if an earlier run completed the upload but ended before it received the response.
    private func completedObject(
        _ upload: MultipartUpload, _ record: ResumeRecord, _ plan: PartPlan, _ run: ObjectRun
    ) async -> UploadResponse? {
        let parts = record.parts.sorted { $0.number < $1.number }
        guard parts.map(\.number) == Array(plan.numbers),
            case .done(let response) = await upload.lookUpObject(object.checksum.whole(of: parts), run)
        else { return nil }
        return response
    }

    private func upload(
        _ id: String, _ source: SourceFile, _ plan: PartPlan, _ claim: (any ResumeRecordStore)?, _ record: ResumeRecord?
    ) -> MultipartUpload {
        MultipartUpload(object, uploadID: id, source: source, plan: plan, claim: claim, record: record)
    }

    private func initiate(_ run: ObjectRun) async throws(StoreError) -> String {
        var call = StoreCall(.post, bucket: object.bucket, key: object.key)
        call.query = [StoreQueryItem("uploads")]
        call.headers = try object.initiationFields()
        // A duplicate leaves an upload without parts behind, which costs nothing.
        call.isIdempotent = true
        return try MultipartXML.uploadID(in: try await object.caller.make(call, run).response)
    }

    /// Checks the whole file for changes before the upload is completed.
    private func check(_ source: SourceFile) async throws(StoreError) {
        let now = try await SourceFile.look(at: source.path)
        if let change = source.stamp.change(to: now.stamp) {
            throw StoreError(source.changed(change, to: now.stamp.size))
        }
    }

    /// Cleans up after an upload that failed: with a record, it can be resumed; without one, its parts are of no
    /// further use and are deleted.
    private func cleanUp(_ upload: MultipartUpload, isResumable: Bool) async {
        guard !isResumable else { return await upload.flush() }
        // Use an unstructured task: the current one may be cancelled, and would send nothing.
        await Task { try? await upload.abort(ObjectRun()) }.value
    }
}

extension HTTPFields {
    /// A hash of the fields that does not depend on the order. Customer keys among the fields are not disclosed.
    fileprivate var digest: String {
        let lines = map { "\($0.name.canonicalName):\($0.value)\n" }
        return MessageAuthentication.sha256Text(lines.sorted().joined())
    }
}
