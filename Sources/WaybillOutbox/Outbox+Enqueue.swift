import WaybillCore
public import Waybill

/// How an upload is queued.
public struct EnqueueOptions: Sendable, Hashable {
    /// Which items are sent first, over all lanes; among equals, the oldest. Each step is worth ten minutes of waiting, so that
    /// no item waits indefinitely.
    public var priority = UploadPriority.normal
    /// The batch it belongs to.
    public var batch: String?
    /// Names to find it by.
    public var tags: [String] = []
    /// What makes it the same as another one that has not ended; `nil` for an upload of its own.
    public var deduplicationKey: String?
    /// What is done when there is one.
    public var duplicates = DuplicatePolicy.keep
    /// How long from now it may still be begun; `nil` for as the outbox is configured.
    public var deadline: Duration?
    /// The most attempts; `nil` for as the outbox is configured.
    public var maxAttempts: Int?
    /// How its files are kept.
    public var keeping = SourceKeeping.reference
    /// What is done when nobody can say whether it was delivered.
    public var onUnknown = UnknownPolicy.fail
    /// What is done when a file is not what it was.
    public var onChange = SourceChangePolicy.fail
    /// The key that goes along with each attempt; made when it is `nil`.
    public var idempotencyKey: String?

    /// The defaults.
    public init() {}
}

/// What became of an upload that was handed over.
public struct OutboxReceipt: Sendable, Hashable {
    /// Its number; of an upload that was there already, that one's.
    public var id: OutboxID
    /// Whether it was added. `false`: an unfinished one had its key, and was kept.
    public var isNew: Bool
}

extension Outbox {
    /// Hands a form over. When this returns, it is on the disk and will be delivered by whoever runs ``run(session:)``.
    ///
    /// Images are made now. Texts and small data are written down, larger data into files of the outbox; files of the form
    /// stay where they are or are copied (``EnqueueOptions/keeping``).
    ///
    /// - Throws: ``OutboxError``. With ``OutboxError/Code/uploadRefused`` when the form can't be kept; its cause says why.
    @discardableResult
    public func enqueue(
        _ form: MultipartForm, to location: some UploadLocation, method: HTTPRequest.Method = .post,
        headers: HTTPFields = [:], credential: DurableCredential? = nil, idempotency: Idempotency = .ignored,
        options: EnqueueOptions = EnqueueOptions()
    ) async throws(OutboxError) -> OutboxReceipt {
        let upload: DurableForm
        do {
            upload = try await DurableForm(
                form, to: location, method: method, headers: headers, credential: credential, idempotency: idempotency)
        } catch {
            throw OutboxError(.uploadRefused, error.description, cause: error)
        }
        return try await enqueue(upload, options: options)
    }

    /// Hands an upload over. When this returns, it is on the disk.
    @discardableResult
    public func enqueue(
        _ upload: some DurableUpload, options: EnqueueOptions = EnqueueOptions()
    ) async throws(OutboxError) -> OutboxReceipt {
        try await enqueue(contentsOf: [upload], options: options)[0]
    }

    /// Hands many uploads over, some hundreds in one commit. What was handed over when it throws stays so.
    ///
    /// - Complexity: linear; memory for some hundreds.
    @discardableResult
    public func enqueue<Upload: DurableUpload>(
        contentsOf uploads: some Sequence<Upload>, options: EnqueueOptions = EnqueueOptions()
    ) async throws(OutboxError) -> [OutboxReceipt] {
        var receipts: [OutboxReceipt] = []
        var page: [Upload] = []
        for upload in uploads {
            page.append(upload)
            guard page.count == Self.together else { continue }
            receipts += try await add(page, options)
            page = []
        }
        if !page.isEmpty { receipts += try await add(page, options) }
        return receipts
    }

    private func add<Upload: DurableUpload>(
        _ uploads: [Upload], _ options: EnqueueOptions
    ) async throws(OutboxError) -> [OutboxReceipt] {
        guard registry.knows(Upload.kind) else {
            throw OutboxError(
                .unknownKind,
                "This outbox doesn't know uploads of the kind \"\(Upload.kind)\". \(Remedy.registerUploadKind)")
        }
        let spool = Spool(folder: folder.spool, disk: configuration.spoolDisk)
        let hold = try spool.hold()
        defer { _ = hold }
        var items: [NewItem] = []
        do throws(OutboxError) {
            for var upload in uploads {
                let staged = try await spool.stage(&upload, keeping: options.keeping)
                let size = upload.files.reduce(0) { $0 + ($1.count ?? 0) }
                do throws(OutboxError) {
                    items.append(try item(upload, options, staged: staged, size: size))
                } catch {
                    spool.remove(staged)
                    throw error
                }
            }
            let reply = try await perform(.enqueue(items))
            guard case .enqueued(let added) = reply else { throw Self.nonsense }
            for (item, entry) in zip(items, added) where !entry.isNew { spool.remove(item.staged) }
            return added.map { OutboxReceipt(id: OutboxID(rawValue: $0.id), isNew: $0.isNew) }
        } catch {
            // Whether an owner that didn't answer has the rows nobody knows here: the next sweep does.
            if error.code != .ownerUnreachable, error.code != .cancelled { spool.remove(items.flatMap(\.staged)) }
            throw error
        }
    }

    private func item(
        _ upload: some DurableUpload, _ options: EnqueueOptions, staged: [String], size: Int64
    ) throws(OutboxError) -> NewItem {
        let retry = configuration.retry
        let deadline = (options.deadline ?? retry.deadline).map { configuration.now() + $0.milliseconds }
        let life = ItemLife(
            maxAttempts: options.maxAttempts ?? retry.maxAttempts, deadline: deadline, onUnknown: options.onUnknown,
            onChange: options.onChange)
        return NewItem(
            kind: type(of: upload).kind, lane: upload.lane.description, spec: try registry.encode(upload), life: life,
            priority: options.priority.number, batch: options.batch, tags: options.tags,
            deduplicationKey: options.deduplicationKey,
            duplicates: options.duplicates,
            idempotencyKey: options.idempotencyKey ?? Delivery.newIdempotencyKey(), size: size, staged: staged)
    }

    static var nonsense: OutboxError {
        OutboxError(
            .ownerUnreachable, "the owner of the outbox answered something else: both programs should be of one release"
        )
    }

    private static let together = 500
}
