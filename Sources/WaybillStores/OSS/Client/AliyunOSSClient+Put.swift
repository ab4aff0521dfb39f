import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

extension AliyunOSSClient {
    /// Stores an object in one request and waits for the answer. At most 5 GB; larger ones go in parts.
    ///
    /// Cancelling the surrounding task cancels the upload.
    ///
    /// - Parameters:
    ///   - content: A file, bytes or a stream.
    ///   - key: The key.
    ///   - bucket: The bucket; `nil` for the client's.
    ///   - options: Type, metadata, who may read, callback.
    /// - Returns: The object.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func put(
        _ content: ObjectContent, to key: String, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await startPut(content, to: key, in: bucket, options: options).value
    }

    /// Starts to store an object in one request and returns the handle at once. What is wrong with the arguments shows as the
    /// error of ``ObjectUpload/value``.
    @discardableResult
    public func startPut(
        _ content: ObjectContent, to key: String, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions()
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.put(content.body(), to: key, in: self.bucket(bucket), options, run)
        }
    }

    /// Appends to an object that grows by appending, or begins one.
    ///
    /// - Parameters:
    ///   - content: What is appended.
    ///   - key: The key.
    ///   - position: The object's length until now; 0 to begin one. `OSSStoredObject.nextPosition` of the last append has it.
    ///   - checksum: The CRC-64 of the object until now, so that the whole can be compared; `OSSStoredObject.checksum` of the
    ///     last append has it. Without it, and not at the beginning, nothing is compared, and an append that gets no
    ///     answer stays unknown.
    ///   - bucket: The bucket; `nil` for the client's.
    ///   - options: Type, metadata and the like, which only the beginning takes.
    /// - Returns: The object as it is now.
    /// - Throws: ``StoreError``; its store code is `PositionNotEqualToLength` when somebody else has appended.
    @discardableResult
    public func append(
        _ content: ObjectContent, to key: String, at position: Int64, continuing checksum: UInt64? = nil,
        in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await ObjectUpload { run throws(StoreError) in
            try await self.append(
                content.body(), to: key, at: position, continuing: position == 0 ? 0 : checksum,
                in: self.bucket(bucket), options, run)
        }.value
    }
}

extension AliyunOSSClient {
    func put(
        _ body: any UploadBody, to key: String, in bucket: String, _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        let answer = try await store(body, to: key, in: bucket, options, run)
        return stored(answer, key, bucket, hasCallback: options.callback != nil)
    }

    /// Stores an object in one request, and gives the answer as it came.
    func store(
        _ body: any UploadBody, to key: String, in bucket: String, _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> OSSCaller.Answer {
        let body = ChecksummedBody(body)
        var call = OSSCall(.put, bucket: bucket, key: key)
        call.headers = try options.fields(for: key).adding(options.limitFields())
        if let callback = options.callback { call.headers = call.headers.adding(try callback.fields()) }
        call.body = body
        call.size = body.length ?? 0
        run.setTotal(body.length)
        run.enter(.sending)
        let find: @Sendable () async -> OSSCaller.Finding = {
            await self.look(for: key, in: bucket, size: body.whole?.count, body.whole?.checksum, run)
        }
        return try await findingOwn(find) { () async throws(StoreError) in
            try await self.make(
                call, run,
                checks: { response throws(StoreError) in try self.compare(body.whole?.checksum, with: response) },
                lookUp: find)
        }
    }

    /// Makes a request that must not replace an object. Where one of its own attempts was done though its answer was an error,
    /// the next one meets what that has stored: it is looked for then.
    func findingOwn(
        _ find: @Sendable () async -> OSSCaller.Finding,
        _ make: () async throws(StoreError) -> OSSCaller.Answer
    ) async throws(StoreError) -> OSSCaller.Answer {
        do throws(StoreError) {
            return try await make()
        } catch  where error.storeCode == "FileAlreadyExists" && error.wasTriedBefore {
            guard case .done(let response) = await find() else { throw error }
            return OSSCaller.Answer(response: response, wasFound: true)
        }
    }

    private func append(
        _ body: any UploadBody, to key: String, at position: Int64, continuing checksum: UInt64?, in bucket: String,
        _ options: OSSObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        guard (0...(1 << 60)).contains(position), options.callback == nil, !options.forbidsOverwrite else {
            throw StoreError(
                .invalidArgument,
                "an append takes no callback, forbids no overwriting, and goes to a position from 0 on")
        }
        let body = ChecksummedBody(body)
        let whole: @Sendable () -> UInt64? = {
            guard let checksum, let sent = body.whole else { return nil }
            return CRC64(continuing: checksum).appending(sent.checksum, count: sent.count).value
        }
        var call = OSSCall(.post, bucket: bucket, key: key)
        call.query = [StoreQueryItem("append"), StoreQueryItem("position", String(position))]
        call.headers = try options.limitFields()
        if position == 0 { call.headers = try options.fields(for: key).adding(call.headers) }
        call.body = body
        call.size = body.length ?? 0
        run.setTotal(body.length)
        run.enter(.sending)
        let end: @Sendable () -> Int64? = { body.whole.map { position + $0.count } }
        do throws(StoreError) {
            let answer = try await make(
                call, run,
                lookUp: { await self.look(for: key, in: bucket, size: end(), whole(), run, before: position) })
            try compare(whole(), with: answer.response)
            return stored(answer, key, bucket, hasCallback: false)
        } catch  where error.storeCode == "PositionNotEqualToLength" {
            // An attempt before the last one may have been done, though its answer was an error.
            guard case .done(let response) = await look(for: key, in: bucket, size: end(), whole(), run) else {
                throw error
            }
            return stored(OSSCaller.Answer(response: response, wasFound: true), key, bucket, hasCallback: false)
        }
    }

    /// Compares what the store has with what was sent.
    func compare(_ ours: UInt64?, with response: UploadResponse) throws(StoreError) {
        guard configuration.comparesChecksums, let ours,
            let theirs = response.headers[.ossChecksum].flatMap({ UInt64($0) }), theirs != ours
        else { return }
        throw StoreError(checksums: ours, theirs, response)
    }

    /// Looks whether an object is there that has this size and this checksum. `before` is the size that says for sure that an
    /// append was not done.
    func look(
        for key: String, in bucket: String, size: Int64?, _ checksum: UInt64?, _ run: ObjectRun, before: Int64? = nil
    ) async -> OSSCaller.Finding {
        do throws(StoreError) {
            let call = OSSCall(.head, bucket: bucket, key: key)
            let response = try await make(call, run).response
            let info = OSSObjectInfo(response)
            if let checksum, info.checksum == checksum, size == nil || info.size == size { return .done(response) }
            guard let before else { return .notDone }
            if info.size == before { return .notDone }
            return .cannotTell(
                StoreError(.rejected, "the object has another length than before and after", outcome: .unknown))
        } catch  where error.status == 404 && error.storeCode != "NoSuchBucket" {
            return .notDone
        } catch {
            return .cannotTell(error)
        }
    }

    func stored(
        _ answer: OSSCaller.Answer, _ key: String, _ bucket: String, hasCallback: Bool
    ) -> OSSStoredObject {
        let place = configuration.publicEndpoint ?? configuration.endpoint
        let url = (try? place.url(bucket: bucket, key: key)) ?? ""
        var object = OSSStoredObject(
            bucket: bucket, key: key, url: url, answer.response, hasCallback: hasCallback && !answer.wasFound)
        object.wasFoundStored = answer.wasFound
        return object
    }
}

extension StoreError {
    /// Whether the request that ended with this was made more than once.
    fileprivate var wasTriedBefore: Bool { (cause as? UploadError).map { $0.attempts.count > 1 } ?? false }
}

extension HTTPFields {
    /// These fields and others.
    func adding(_ others: HTTPFields) -> HTTPFields {
        var fields = self
        for field in others { fields[field.name] = field.value }
        return fields
    }
}
