import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// A multipart upload of one file, from its initiation to the completed object.
final class MultipartUpload: MultipartProtocol {
    private struct State: Sendable {
        /// The checksums of the parts that were read by this run or by the run that wrote the record.
        var checksums: [Int: String] = [:]
        var record: ResumeRecord?
        var unsaved = 0
    }

    let object: any ObjectRequests
    let uploadID: String
    let source: SourceFile
    let plan: PartPlan
    private let claim: (any ResumeRecordStore)?
    private let state: Locked<State>

    init(
        _ object: any ObjectRequests, uploadID: String, source: SourceFile, plan: PartPlan,
        claim: (any ResumeRecordStore)?, record: ResumeRecord?
    ) {
        self.object = object
        self.uploadID = uploadID
        self.source = source
        self.plan = plan
        self.claim = claim
        var state = State(record: record)
        for part in record?.parts ?? [] { state.checksums[part.number] = part.checksum }
        self.state = Locked(state)
    }

    private func call(_ method: HTTPRequest.Method) -> StoreCall {
        var call = StoreCall(method, bucket: object.bucket, key: object.key)
        call.query = [StoreQueryItem("uploadId", uploadID)]
        return call
    }

    // MARK: Parts

    func send(part number: Int, _ run: ObjectRun) async -> PartResult {
        do throws(StoreError) {
            let content = try FileBody.range(plan.range(of: number), of: source)
            let body = ChecksummedBody(content, object.checksum)
            var call = call(.put)
            call.query.append(StoreQueryItem("partNumber", String(number)))
            call.headers = try object.partFields()
            call.body = content
            try await object.prepare(&call)
            call.body = body
            call.size = plan.size(of: number)
            let response: UploadResponse
            do throws(StoreError) {
                response = try await object.caller.make(call, run).response
            } catch {
                note(body.checksumText, of: number)
                throw error
            }
            let checksum = body.checksumText
            note(checksum, of: number)
            do throws(StoreError) {
                try object.compare(checksum, withPart: response)
            } catch {
                run.addStored(bytes: -plan.size(of: number))
                return .corrupted(error)
            }
            guard let tag = response.headers[.eTag] else {
                throw StoreError(
                    .unexpectedResponse, "The store accepted the part but returned no ETag.", outcome: .unknown)
            }
            return .stored(
                PartReceipt(number: number, size: plan.size(of: number), tag: tag, checksum: checksum))
        } catch  where error.outcome == .unknown && !error.isCancelled {
            return .uncertain(error)
        } catch {
            return .failed(error)
        }
    }

    func didStore(_ receipt: PartReceipt) async throws(StoreError) {
        // The record is always written as a whole, so it is saved about a hundred times per upload, not after each
        // part.
        let due = state.withLock { state -> ResumeRecord? in
            guard state.record != nil else { return nil }
            state.record?.parts.append(receipt)
            state.unsaved += 1
            guard state.unsaved >= max(1, plan.count / 100) else { return nil }
            state.unsaved = 0
            return state.record
        }
        // A full disk need not fail the upload: a resuming run reads and compares parts that the record lacks.
        if let due { try? await claim?.save(due) }
    }

    /// Saves unsaved parts of the record, so that a failed upload is resumed from as many parts as possible.
    func flush() async {
        let due = state.withLock { state -> ResumeRecord? in
            guard state.unsaved > 0 else { return nil }
            state.unsaved = 0
            return state.record
        }
        if let due { try? await claim?.save(due) }
    }

    private func note(_ checksum: String?, of number: Int) {
        if let checksum { state.withLock { $0.checksums[number] = checksum } }
    }

    // MARK: What the store has

    /// Returns the parts at the store that match the file, limited to parts whose checksum this run or its record
    /// knows.
    func listParts(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt] {
        let known = state.withLock { Set($0.checksums.keys) }
        return try await matchingParts(among: try await list(run).filter { known.contains($0.number) })
    }

    /// Returns the parts at the store that match the file. Parts that an earlier run sent but did not record are read
    /// from the file and compared, which is cheaper than sending them again.
    func partsToKeep(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt] {
        let kept = try await matchingParts(among: try await list(run))
        state.withLock { $0.record?.parts = kept }
        return kept
    }

    private func matchingParts(among receipts: [PartReceipt]) async throws(StoreError) -> [PartReceipt] {
        var matching: [PartReceipt] = []
        for var receipt in receipts
        where plan.numbers.contains(receipt.number) && receipt.size == plan.size(of: receipt.number) {
            let range = plan.range(of: receipt.number)
            var checksum = state.withLock { $0.checksums[receipt.number] }
            if checksum == nil {
                checksum = try await FileBody.checksum(of: range, in: source, object.checksum).text
                note(checksum, of: receipt.number)
            }
            if let theirs = receipt.checksum {
                guard theirs == checksum else { continue }
            } else if !isRecorded(receipt) {
                // Without a checksum in the list, the ETag is compared: it is the MD5 of the part.
                let digest = try await FileBody.digest(of: range, in: source)
                guard digest == receipt.tag.filter({ $0 != "\"" }).uppercased() else { continue }
            }
            receipt.checksum = checksum
            matching.append(receipt)
        }
        return matching
    }

    /// Whether the record has the part with this `ETag`, which then need not be an MD5.
    private func isRecorded(_ receipt: PartReceipt) -> Bool {
        state.withLock { state in
            state.record?.parts.contains { $0.number == receipt.number && $0.tag == receipt.tag } ?? false
        }
    }

    private func list(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt] {
        var receipts: [PartReceipt] = []
        var marker = 0
        while true {
            var call = call(.get)
            call.query += [
                StoreQueryItem("max-parts", "1000"), StoreQueryItem("part-number-marker", String(marker)),
            ]
            let response = try await object.caller.make(call, run).response
            let page = try MultipartXML.parts(in: response, checksum: object.checksumElement)
            receipts += page.parts
            guard let next = page.next else { return receipts }
            guard next > marker, receipts.count <= 10_000 else {
                throw StoreError(.unexpectedResponse, "The list of parts from the store does not end.")
            }
            marker = next
        }
    }

    // MARK: The end

    /// Completes the upload: the store assembles the object.
    func complete(_ receipts: [PartReceipt], _ run: ObjectRun) async throws(StoreError) -> StoreCaller.CallResult {
        run.enter(.completing)
        var call = call(.post)
        let checksum = object.checksum.whole(of: receipts)
        call.headers = try object.completionFields(checksum)
        call.headers[.contentType] = "application/xml"
        call.body = DataBody(object.completion(of: receipts))
        try await object.prepare(&call)
        do throws(StoreError) {
            let result = try await object.caller.make(
                call, run, existing: object.objectExists, lookUp: { await self.lookUpCompletion(checksum, run) })
            try object.compare(checksum, withObject: result.response)
            return result
        } catch  where error.code == .uploadGone {
            // An earlier attempt may have completed the upload although its response was an error or was lost.
            guard case .done(let response) = await lookUpObject(checksum, run) else { throw error }
            return StoreCaller.CallResult(response: response, wasFound: true)
        }
    }

    func lookUpObject(_ checksum: String?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
        await object.lookUp(size: plan.objectSize, checksum, run)
    }

    /// Determines the outcome of a Complete request without a response: whether the object exists, or else the upload.
    private func lookUpCompletion(_ checksum: String?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
        let object = await lookUpObject(checksum, run)
        guard case .notDone = object else { return object }
        do throws(StoreError) {
            _ = try await list(run)
            return .notDone
        } catch {
            return .unknown(error)
        }
    }

    /// Deletes the parts at the store.
    func abort(_ run: ObjectRun) async throws(StoreError) {
        try await object.abort(uploadID, run)
    }
}
