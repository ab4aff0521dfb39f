import HTTPTypes
import WaybillCore
import WaybillMultipart

// Resumable uploads: which bodies are sent in parts, and how their requests are started.

extension UploadRun {
    /// Creates the resumable upload of a body, with the record of an earlier process if there is one.
    ///
    /// - Returns: The body, with the boundary of the record, and the upload; `nil` for a body that is sent in one request.
    /// - Throws: ``UploadError/Code/resumptionUnsupported`` if the options require a protocol and the body is unsuitable,
    ///   ``UploadError/Code/recordUnusable``, or ``UploadError/Code/invalidRequest`` for metadata.
    func makeResumable(
        _ body: any UploadBody, _ options: ResumeOptions
    ) async throws(UploadError) -> (any UploadBody, ResumableUpload?)? {
        guard let plan, let core else { return nil }
        let length = body.length
        // A form of unknown length has no ranges: each append would read it from its beginning.
        guard body.isReplayable, length != nil || !(body is MultipartBody) else {
            guard options.protocol != .automatic else { return (body, nil) }
            let (need, remedy) =
                body.isReplayable
                ? ("form of known length", Remedy.spillStream) : ("body that can be read again", .makeReplayable)
            throw UploadError(
                .resumptionUnsupported, "A resumable upload needs a \(need). \(remedy)", phase: .preparing)
        }
        if options.protocol == .automatic, let length, length < options.minimumLength.bytes { return (body, nil) }
        let metadata = try TusMetadata.field(for: request.content, type: body.contentType, options: options)
        let fingerprint = (body as? any FingerprintedBody)?.fingerprint
        let found = try await findRecord(of: body, fingerprint, options, plan)
        var options = options
        // Other bodies may have one reader at a time, such as the copy of a stream.
        if fingerprint == nil { options.parallelParts = 1 }
        let body = found?.body ?? body
        let resumable = ResumableUpload(
            body, length: length, options: options, url: plan.url, support: core.resumeSupport, metadata: metadata,
            harmless: plan.harmlessFields, followsRedirects: plan.options.redirects.follows, store: found?.storage,
            record: found?.record)
        return (body, resumable)
    }

    private func findRecord(
        of body: any UploadBody, _ fingerprint: BodyFingerprint?, _ options: ResumeOptions, _ plan: RequestPlan
    ) async throws(UploadError) -> (body: any UploadBody, storage: ResumeRecordStore, record: ResumeRecord?)? {
        guard let length = body.length, var fingerprint else { return nil }
        for text in [plan.method.rawValue, plan.url, options.protocol.description] { fingerprint.add(text) }
        let claimed = try await options.records?.claim(fingerprint)
        guard let storage = plan.options.resumeBox?.storage ?? claimed else { return nil }
        let found = try await storage.load(fingerprint, length: length)
        guard let form = body as? MultipartBody else { return (body, storage, found?.record) }
        guard let found, let boundary = found.boundary, let restored = form.replacingBoundary(with: boundary) else {
            storage.setBoundary(form.boundary.description)
            return (body, storage, nil)
        }
        storage.setBoundary(boundary)
        return (restored, storage, found.record)
    }

    /// Starts an attempt that continues a resumable upload.
    func start(
        _ template: TransferRequest, of resumable: ResumableUpload, attempt: Int, _ hop: UploadRoute.Hop,
        _ core: SessionCore, _ sink: any TransferSink
    ) {
        guard let plan else { return }
        resumable.setTemplate(template)
        let started = ResumableAttempt(resumable, clock: clock, sink: sink) { [self] request, isFinal, sink in
            launch(
                request, attempt: attempt, hop, accepts: isFinal ? plan.options.accepts : .only([]), core, sink
            ) { [weak self] sent in self?.withResources { $0.sent = sent } }
        }
        withResources { $0.control = started }
        started.start()
    }

    /// Starts a request of a resumable upload, and calls the closure with the request as the interceptors changed it. They
    /// evaluate the response of the application, but not those about the upload's state (`accepts`).
    private func launch(
        _ request: TransferRequest, attempt: Int, _ hop: UploadRoute.Hop, accepts: StatusPolicy, _ core: SessionCore,
        _ sink: any TransferSink, then: @escaping @Sendable (TransferRequest) -> Void = { _ in }
    ) -> any TransferControl {
        guard let chain = plan?.chain, !chain.isEmpty else {
            then(request)
            return core.transport.start(request, sink: sink)
        }
        let intercepted = InterceptedAttempt(
            request, attempt: attempt, chain: chain, adapts: hop.sendsCredentials, accepts: accepts,
            transport: core.transport, sink: sink)
        intercepted.start(willSend: then)
        return intercepted
    }

    /// Removes a resumable upload from the server if it will not be continued: the caller has cancelled it, or its body
    /// can't be read. Each request is sent once, without waiting for its response.
    func removeFromServer(
        _ resumable: ResumableUpload, after result: Result<UploadResponse, UploadError>, _ core: SessionCore
    ) {
        // A queue cancels a delivery when its worker stops, and continues it later.
        guard let plan, case .failure(let error) = result else { return }
        let keeps = withResources { $0.keepsRemoteUpload } || plan.options.resumeBox?.storage != nil
        let isBodyLost = (error.cause as? TransferError)?.code == .bodyFailed
        guard error.isCancelled && !keeps || isBodyLost else { return }
        let hop = withResources { $0.hop } ?? plan.firstHop
        for request in resumable.takeRemovals() {
            _ = launch(request, attempt: error.attempts.count, hop, accepts: .only([]), core, IgnoringSink())
        }
    }
}
