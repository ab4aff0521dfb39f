import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// A multipart upload of one file, from its initiation to the completed object.
final class OSSMultipart: MultipartProtocol {
    private struct State: Sendable {
        /// The checksums of the parts that were read by this run or by the run that wrote the record.
        var checksums: [Int: UInt64] = [:]
        var record: ResumeRecord?
        var unsaved = 0
    }

    let client: AliyunOSSClient
    let bucket: String
    let key: String
    let uploadID: String
    let source: SourceFile
    let plan: PartPlan
    private let claim: (any ResumeRecordStore)?
    private let limits: HTTPFields
    private let state: Locked<State>

    init(
        _ client: AliyunOSSClient, _ object: OSSFileUpload, uploadID: String, source: SourceFile, plan: PartPlan,
        claim: (any ResumeRecordStore)?, record: ResumeRecord?
    ) throws(StoreError) {
        self.client = client
        bucket = object.bucket
        key = object.key
        self.uploadID = uploadID
        self.source = source
        self.plan = plan
        self.claim = claim
        limits = try object.options.limitFields()
        var state = State(record: record)
        for part in record?.parts ?? [] { state.checksums[part.number] = part.checksum.flatMap { UInt64($0) } }
        self.state = Locked(state)
    }

    private func call(_ method: HTTPRequest.Method) -> StoreCall {
        var call = StoreCall(method, bucket: bucket, key: key)
        call.query = [StoreQueryItem("uploadId", uploadID)]
        return call
    }

    // MARK: Parts

    func send(part number: Int, _ run: ObjectRun) async -> PartResult {
        do throws(StoreError) {
            let body = ChecksummedBody(try FileBody.range(plan.range(of: number), of: source))
            var call = call(.put)
            call.query.append(StoreQueryItem("partNumber", String(number)))
            call.headers = limits
            call.body = body
            call.size = plan.size(of: number)
            let response: UploadResponse
            do throws(StoreError) {
                response = try await client.make(call, run).response
            } catch {
                note(body.whole?.checksum, of: number)
                throw error
            }
            let checksum = body.whole?.checksum
            note(checksum, of: number)
            do throws(StoreError) {
                try client.compare(checksum, with: response)
            } catch {
                run.addStored(bytes: -plan.size(of: number))
                return .corrupted(error)
            }
            guard let tag = response.headers[.eTag] else {
                throw StoreError(
                    .unexpectedResponse, "The store accepted the part but returned no ETag.", outcome: .unknown)
            }
            return .stored(
                PartReceipt(number: number, size: plan.size(of: number), tag: tag, checksum: checksum.map(String.init)))
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

    private func note(_ checksum: UInt64?, of number: Int) {
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
                checksum = try await FileBody.checksum(of: range, in: source)
                note(checksum, of: receipt.number)
            }
            if let theirs = receipt.checksum {
                guard UInt64(theirs) == checksum else { continue }
            } else {
                // Without a checksum in the list, the ETag is compared: it is the MD5 of the part.
                guard
                    try await FileBody.digest(of: range, in: source) == receipt.tag.filter({ $0 != "\"" }).uppercased()
                else { continue }
                receipt.checksum = checksum.map(String.init)
            }
            matching.append(receipt)
        }
        return matching
    }

    private func list(_ run: ObjectRun) async throws(StoreError) -> [PartReceipt] {
        var receipts: [PartReceipt] = []
        var marker = 0
        while true {
            var call = call(.get)
            call.query += [
                StoreQueryItem("max-parts", "1000"), StoreQueryItem("part-number-marker", String(marker)),
            ]
            let response = try await client.make(call, run).response
            let page = try OSSMultipartXML.parts(in: response)
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
    func complete(
        _ receipts: [PartReceipt], _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> StoreCaller.CallResult {
        run.enter(.completing)
        var call = call(.post)
        call.headers[.contentType] = "application/xml"
        if options.forbidsOverwrite { call.headers[.ossForbidOverwrite] = "true" }
        if let callback = options.callback { call.headers = call.headers.adding(try callback.fields()) }
        call.body = DataBody(OSSMultipartXML.completion(of: receipts))
        let checksum = receipts.wholeChecksum
        do throws(StoreError) {
            let done = call
            let result = try await StoreCaller.recoveringExistingObject(
                rejectedWith: AliyunOSSClient.objectExists, { await self.lookUpObject(checksum, run) }
            ) { () async throws(StoreError) in
                try await self.client.make(done, run, lookUp: { await self.lookUpCompletion(checksum, run) })
            }
            try client.compare(checksum, with: result.response)
            return result
        } catch  where error.code == .uploadGone {
            // An earlier attempt may have completed the upload although its response was an error or was lost.
            guard case .done(let response) = await lookUpObject(checksum, run) else { throw error }
            return StoreCaller.CallResult(response: response, wasFound: true)
        }
    }

    func lookUpObject(_ checksum: UInt64?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
        await client.look(for: key, in: bucket, size: plan.objectSize, checksum, run)
    }

    /// Determines the outcome of a Complete request without a response: whether the object exists, or else the upload.
    private func lookUpCompletion(_ checksum: UInt64?, _ run: ObjectRun) async -> StoreCaller.LookupResult {
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
        try await client.abort(uploadID, of: key, in: bucket, run)
    }
}

extension AliyunOSSClient {
    /// Deletes the parts of an upload at the store. Does nothing if the store no longer knows the upload.
    func abort(_ uploadID: String, of key: String, in bucket: String, _ run: ObjectRun) async throws(StoreError) {
        var call = StoreCall(.delete, bucket: bucket, key: key)
        call.query = [StoreQueryItem("uploadId", uploadID)]
        call.isIdempotent = true
        do throws(StoreError) {
            _ = try await make(call, run)
        } catch  where error.code == .uploadGone {
            return
        }
    }
}

/// Parses and writes the XML of multipart uploads.
enum OSSMultipartXML {
    static func uploadID(in response: UploadResponse) throws(StoreError) -> String {
        let root = try read(response, "InitiateMultipartUploadResult")
        guard let id = root["UploadId"], !id.isEmpty, id.utf8.count <= 1_024 else {
            throw StoreError(.unexpectedResponse, "The store initiated an upload but returned no upload ID.")
        }
        return id
    }

    static func parts(in response: UploadResponse) throws(StoreError) -> (parts: [PartReceipt], next: Int?) {
        let root = try read(response, "ListPartsResult")
        let parts = root.all("Part").compactMap { part -> PartReceipt? in
            guard let number = part["PartNumber"].flatMap({ Int($0) }), let size = part["Size"].flatMap({ Int64($0) }),
                let tag = part["ETag"]
            else { return nil }
            return PartReceipt(number: number, size: size, tag: tag, checksum: part["HashCrc64ecma"])
        }
        guard root["IsTruncated"] == "true" else { return (parts, nil) }
        guard let next = root["NextPartNumberMarker"].flatMap({ Int($0) }) else {
            throw StoreError(
                .unexpectedResponse,
                "The list of parts from the store is truncated but has no marker for the next page.")
        }
        return (parts, next)
    }

    static func completion(of receipts: [PartReceipt]) -> [UInt8] {
        var text = "<CompleteMultipartUpload>"
        for receipt in receipts {
            text += "<Part><PartNumber>\(receipt.number)</PartNumber><ETag>\(escaped(receipt.tag))</ETag></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    private static func read(_ response: UploadResponse, _ name: String) throws(StoreError) -> XMLNode {
        let why: String
        do throws(BoundedXMLParser.ParseError) {
            let root = try BoundedXMLParser.read(response.body)
            if root.name == name { return root }
            why = "its root element is \(StoreError.shown(root.name, atMost: 60))"
        } catch {
            why = error.description
        }
        var error = StoreError(
            .unexpectedResponse, "The response of the store is not a valid \(name): \(why).", outcome: .unknown)
        error.status = response.status.code
        error.requestID = response.headers[.ossRequestID]
        throw error
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
