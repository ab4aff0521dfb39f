import FoundationEssentials
import HTTPTypes
import Waybill
public import WaybillCore
import WaybillMultipart

/// The upload of a file: in one request if it is small, else in parts, from its record if there is one.
struct OSSFileUpload: Sendable {
    let client: AliyunOSSClient
    let path: String
    let bucket: String
    let key: String
    let options: OSSObjectOptions
    let multipart: OSSMultipartOptions
    /// The file, where somebody has looked at it already.
    var source: SourceFile?
    /// Where its record is kept, if not in the client's folder.
    var keeper: (any RecordKeeper)?

    /// What OSS allows: 10,000 parts of 100 KB to 5 GB.
    static let limits = PartLimits(smallest: .bytes(102_400), largest: .gibibytes(5), most: 10_000)

    /// An object that was stored: the answer, and how the upload began.
    typealias Ending = (answer: OSSCaller.Answer, beginning: OSSStoredObject.Beginning)

    func go(_ run: ObjectRun) async throws(StoreError) -> OSSStoredObject {
        let (answer, beginning) = try await perform(run)
        var object = client.stored(answer, key, bucket, hasCallback: options.callback != nil)
        object.beginning = beginning
        return object
    }

    func perform(_ run: ObjectRun) async throws(StoreError) -> Ending {
        _ = try client.configuration.endpoint.url(bucket: bucket, key: key)
        _ = try options.fields(for: key)
        let path = try AbsolutePath.of(path)
        var looked = source
        if looked == nil { looked = try await SourceFile.look(at: path) }
        guard let source = looked else { preconditionFailure("the file was looked at") }
        let size = source.stamp.size
        run.setTotal(size)
        guard size > max(0, (multipart.wholeUpTo ?? client.configuration.wholeUpTo).bytes) else {
            let body = try FileBody.range(0..<size, of: source)
            return (try await client.store(body, to: key, in: bucket, options, run), .whole)
        }
        let plan = try PartPlan(
            objectSize: size, wished: multipart.partSize ?? client.configuration.partSize, limits: Self.limits)
        var subject = ResumeSubject(
            endpoint: client.configuration.endpoint.text, bucket: bucket, key: key, source: source, path: path,
            partSize: plan.partSize)
        if let keeper {
            subject.forgetDevice()
            return try await inParts(source, plan, (keeper, subject), run)
        }
        guard multipart.resumes, let folder = client.configuration.records else {
            return try await inParts(source, plan, nil, run)
        }
        let claim = try await folder.claim(subject)
        defer { claim.close() }
        return try await inParts(source, plan, (claim, subject), run)
    }

    /// Throws away the record of an upload and what the store has of it.
    func forget(_ run: ObjectRun) async throws(StoreError) {
        guard let folder = client.configuration.records else { return }
        let path = try AbsolutePath.of(path)
        let subject = ResumeSubject(
            endpoint: client.configuration.endpoint.text, bucket: bucket, key: key, path: path)
        let claim = try await folder.claim(subject)
        defer { claim.close() }
        let found = try await claim.load(subject, at: Int64(StoreDate.seconds(client.configuration.now())))
        if case .useless(_, let record?) = found { try await client.abort(record.uploadID, of: key, in: bucket, run) }
        await claim.remove()
    }

    // MARK: Parts

    private func inParts(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any RecordKeeper, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> Ending {
        do throws(StoreError) {
            return try await once(source, plan, record, run)
        } catch  where error.code == .uploadGone || error.code == .checksumMismatch {
            // The store has forgotten what it had, or put together something else: once more from the first byte.
            run.forget()
            await record?.claim.remove()
            do throws(StoreError) {
                return try await once(source, plan, record, run)
            } catch let second {
                var second = second
                second.message += "; it was begun anew once before"
                throw second
            }
        }
    }

    private func once(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any RecordKeeper, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> Ending {
        run.enter(.starting)
        let (upload, listed, beginning) = try await begin(source, plan, record, run)
        if let found = listed.found {
            await record?.claim.finish()
            return (OSSCaller.Answer(response: found, wasFound: true), beginning)
        }
        do throws(StoreError) {
            run.enter(.sending)
            let receipts = try await PartPump(store: upload, run: run).send(
                plan, listed: listed.parts, atOnce: multipart.partsAtOnce ?? client.configuration.partsAtOnce)
            try await check(source)
            // Whoever finds the upload gone after a kill knows the object by the checksums of all its parts.
            await upload.flush()
            let answer = try await upload.complete(receipts, options, run)
            await record?.claim.finish()
            return (answer, beginning)
        } catch {
            if error.isStored {
                await record?.claim.finish()
            } else {
                // Bytes that are not ours are of no use to a later run either.
                let canGoOn = record != nil && error.code != .checksumMismatch
                await leave(upload, canGoOn: canGoOn)
                if !canGoOn { await record?.claim.remove() }
            }
            throw error
        }
    }

    private struct Listed {
        var parts: [PartReceipt] = []
        /// The object, if it turned out to be there already.
        var found: UploadResponse?
    }

    private func begin(
        _ source: SourceFile, _ plan: PartPlan, _ record: (claim: any RecordKeeper, subject: ResumeSubject)?,
        _ run: ObjectRun
    ) async throws(StoreError) -> (OSSMultipart, Listed, OSSStoredObject.Beginning) {
        guard let (claim, subject) = record else {
            let id = try await initiate(run)
            return (try upload(id, source, plan, nil, nil), Listed(), .fresh)
        }
        var beginning = OSSStoredObject.Beginning.fresh
        switch try await claim.load(subject, at: Int64(StoreDate.seconds(client.configuration.now()))) {
        case .none: break
        case .usable(let found):
            let upload = try upload(found.uploadID, source, plan, claim, found)
            do throws(StoreError) {
                let parts = try await upload.partsToKeep(run)
                return (upload, Listed(parts: parts), .resumed(parts: parts.count))
            } catch  where error.code == .uploadGone {
                if let response = await earlierEnd(upload, found, plan, run) {
                    return (upload, Listed(found: response), .resumed(parts: found.parts.count))
                }
                beginning = .afterDiscarding("the store no longer knows the upload")
            }
        case .useless(let reason, let old):
            beginning = .afterDiscarding(reason)
            // Parts that nobody will ever use cost their owner money.
            if let old { try? await client.abort(old.uploadID, of: key, in: bucket, run) }
        }
        let id = try await initiate(run)
        let fresh = ResumeRecord(subject: subject, uploadID: id)
        // Before the first part, so that no part is ever sent that no record knows of.
        try await claim.save(fresh)
        return (try upload(id, source, plan, claim, fresh), Listed(), beginning)
    }

    /// The object, if an earlier run had put it together and did not live to hear of it.
    private func earlierEnd(
        _ upload: OSSMultipart, _ record: ResumeRecord, _ plan: PartPlan, _ run: ObjectRun
    ) async -> UploadResponse? {
        let parts = record.parts.sorted { $0.number < $1.number }
        guard parts.map(\.number) == Array(plan.numbers),
            case .done(let response) = await upload.lookForWhole(parts.wholeChecksum, run)
        else { return nil }
        return response
    }

    private func upload(
        _ id: String, _ source: SourceFile, _ plan: PartPlan, _ claim: (any RecordKeeper)?, _ record: ResumeRecord?
    ) throws(StoreError) -> OSSMultipart {
        try OSSMultipart(client, self, uploadID: id, source: source, plan: plan, claim: claim, record: record)
    }

    private func initiate(_ run: ObjectRun) async throws(StoreError) -> String {
        var call = OSSCall(.post, bucket: bucket, key: key)
        call.query = [StoreQueryItem("uploads")]
        call.headers = try options.fields(for: key)
        // Twice leaves an upload without parts behind, which costs nothing.
        call.isIdempotent = true
        return try OSSReplies.uploadID(in: try await client.make(call, run).response)
    }

    /// The file as a whole once more, before the object is put together of it.
    private func check(_ source: SourceFile) async throws(StoreError) {
        let now = try await SourceFile.look(at: source.path)
        if let change = source.stamp.change(to: now.stamp) {
            throw StoreError(source.changed(change, to: now.stamp.size))
        }
    }

    /// What is done about an upload that ended in an error: it can be resumed if it has a record, else nobody will ever use
    /// its parts.
    private func leave(_ upload: OSSMultipart, canGoOn: Bool) async {
        guard !canGoOn else { return await upload.flush() }
        // In a task of its own: this one may be cancelled, and nothing would be sent in it.
        await Task { try? await upload.abort(ObjectRun()) }.value
    }
}

/// How a file goes up in parts. What is `nil` is as the client's configuration has it.
public struct OSSMultipartOptions: Sendable, Hashable {
    /// The size of parts, 100 KB to 5 GB.
    public var partSize: ByteCount?
    /// How many parts are on their way at once.
    public var partsAtOnce: Int?
    /// Files of up to this size go in one request.
    public var wholeUpTo: ByteCount?
    /// Whether a record is kept, to go on from in another run. Without it, what was sent is thrown away when it fails.
    public var resumes = true

    /// As the client has it.
    public init() {}
}
