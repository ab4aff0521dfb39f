import WaybillCore
public import Waybill

/// Options for an enqueued upload.
public struct EnqueueOptions: Sendable, Hashable {
    /// The priority across all lanes; among items of equal priority, the oldest is sent first. Each step is worth ten
    /// minutes of waiting, so that no item waits indefinitely.
    public var priority = UploadPriority.normal
    /// The batch of the item.
    public var batch: String?
    /// The tags by which the item can be selected.
    public var tags: [String] = []
    /// The key that identifies duplicates among unfinished items; `nil` if the upload has no duplicates.
    public var deduplicationKey: String?
    /// The time for which the key stays reserved after the item was delivered, by the clock of the outbox's store; `nil`
    /// to release it immediately. Meanwhile, an upload with this key and ``DuplicatePolicy/keep`` is not added.
    public var deduplicationPeriod: Duration?
    /// The policy for an unfinished item with the same key.
    public var duplicates = DuplicatePolicy.keep
    /// The time from now before which no attempt is started, from zero to a year, by the clock of the outbox's store.
    ///
    /// ``Outbox/runUntilIdle(session:)`` does not wait for it, and ``Outbox/retry(_:)`` ends it.
    public var delay = Duration.zero
    /// The time from now, or from the end of the delay, after which no attempt is started; `nil` for the value of the
    /// outbox's configuration.
    public var deadline: Duration?
    /// The maximum number of attempts; `nil` for the value of the outbox's configuration.
    public var maxAttempts: Int?
    /// The storage of the item's files.
    public var fileStorage = FileStorage.reference
    /// Whether the item may depend on files that only this machine can read: then only its workers deliver the item.
    /// Applies to an outbox of several machines, and to files that stay in place. See ``SharedOutboxStore``.
    public var allowsPinning = false
    /// The policy for an unknown outcome.
    public var onUnknown = UnknownPolicy.fail
    /// The policy for a changed source file.
    public var onChange = SourceChangePolicy.fail
    /// The idempotency key that is sent with each attempt; generated if `nil`.
    public var idempotencyKey: String?

    /// Creates options with the default values.
    public init() {}
}

/// The result of enqueuing an upload.
public struct OutboxReceipt: Sendable, Hashable {
    /// The ID of the item, or that of the existing item if the upload is a duplicate.
    public var id: OutboxID
    /// The reason why the upload was added or not.
    public var status: Status

    /// The result of comparing the key of an upload with those of other items.
    public enum Status: String, Sendable, Hashable {
        /// The upload was added.
        case added
        /// An unfinished item with the same key exists and was kept.
        case unfinished
        /// An item with the same key was delivered within its ``EnqueueOptions/deduplicationPeriod``.
        case delivered
    }

    /// Whether the upload was added.
    public var isNew: Bool { status == .added }
}

extension OutboxReceipt {
    init(_ item: EnqueuedItem) {
        id = OutboxID(rawValue: item.id)
        status = item.isNew ? .added : item.isDelivered == true ? .delivered : .unfinished
    }
}

extension Outbox {
    /// Enqueues a form. When this returns, the form is on disk, or in the shared store; a process that runs
    /// ``run(session:)`` delivers it.
    ///
    /// Images are compressed now. Text fields and small data are stored in the queue, larger data in files of the
    /// outbox. Files of the form stay in place or are copied, depending on ``EnqueueOptions/fileStorage``.
    ///
    /// - Throws: ``OutboxError``, with ``OutboxError/Code/uploadRefused`` and a cause if the form cannot be stored.
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

    /// Enqueues an upload. When this returns, it is on disk.
    @discardableResult
    public func enqueue(
        _ upload: some DurableUpload, options: EnqueueOptions = EnqueueOptions()
    ) async throws(OutboxError) -> OutboxReceipt {
        try await enqueue(contentsOf: [upload], options: options)[0]
    }

    /// Enqueues many uploads, up to 500 or 8 MiB of files in a shared store per commit. Uploads of earlier commits remain enqueued if this throws.
    ///
    /// - Complexity: Linear; memory for up to 500 uploads.
    @discardableResult
    public func enqueue<Upload: DurableUpload>(
        contentsOf uploads: some Sequence<Upload>, options: EnqueueOptions = EnqueueOptions()
    ) async throws(OutboxError) -> [OutboxReceipt] {
        var receipts: [OutboxReceipt] = []
        var page: [Upload] = []
        for upload in uploads {
            page.append(upload)
            guard page.count == Self.itemsPerCommit else { continue }
            receipts += try await add(page, options)
            page = []
        }
        if !page.isEmpty { receipts += try await add(page, options) }
        return receipts
    }

    private func add<Upload: DurableUpload>(
        _ uploads: [Upload], _ options: EnqueueOptions
    ) async throws(OutboxError) -> [OutboxReceipt] {
        guard registry.contains(Upload.kind) else {
            throw OutboxError(
                .unknownKind,
                "Unknown upload type \"\(Upload.kind)\". \(Remedy.registerUploadKind)")
        }
        let sweepLock = try bodies.lockAgainstSweep()
        defer { _ = sweepLock }
        var receipts: [OutboxReceipt] = []
        var items: [NewItem] = []
        var bodySize = 0
        do throws(OutboxError) {
            for var upload in uploads {
                let staged = try await bodies.stage(&upload, options)
                do throws(OutboxError) {
                    items.append(try item(upload, options, staged))
                } catch {
                    bodies.remove(staged.names)
                    throw error
                }
                bodySize += staged.bodies.reduce(0) { $0 + $1.bytes.count }
                guard bodySize >= Self.bodySizePerCommit else { continue }
                receipts += try await commit(items)
                (items, bodySize) = ([], 0)
            }
            if !items.isEmpty { receipts += try await commit(items) }
            return receipts
        } catch {
            // Whether a store or an owner that did not respond has the items is unknown; a sweep removes orphaned files.
            if ![.ownerUnreachable, .storeUnreachable, .cancelled].contains(error.code) {
                bodies.remove(items.flatMap(\.staged))
            }
            throw error
        }
    }

    private func commit(_ items: [NewItem]) async throws(OutboxError) -> [OutboxReceipt] {
        guard case .enqueued(let added) = try await perform(.enqueue(items)) else { throw Self.unexpectedReply }
        for (item, entry) in zip(items, added) where !entry.isNew { bodies.remove(item.staged) }
        return added.map { OutboxReceipt($0) }
    }

    private func item(
        _ upload: some DurableUpload, _ options: EnqueueOptions, _ staged: StagedFiles
    ) throws(OutboxError) -> NewItem {
        let retry = configuration.retry
        let delay = options.delay.milliseconds
        guard (0...ItemLife.longestDelay).contains(delay) else {
            throw OutboxError(.uploadRefused, "The delay must be between 0 and 366 days; got \(options.delay).")
        }
        guard options.deduplicationPeriod == nil || options.deduplicationKey != nil else {
            throw OutboxError(
                .uploadRefused, "A deduplication period requires a deduplication key. Set a key, or no period.")
        }
        let life = ItemLife(
            maxAttempts: options.maxAttempts ?? retry.maxAttempts, onUnknown: options.onUnknown,
            onChange: options.onChange)
        var item = NewItem(
            kind: type(of: upload).kind, lane: upload.lane.description, spec: try registry.encode(upload), life: life,
            priority: options.priority.number, batch: options.batch, tags: options.tags,
            deduplicationKey: options.deduplicationKey,
            duplicates: options.duplicates,
            idempotencyKey: options.idempotencyKey ?? Delivery.newIdempotencyKey(),
            size: upload.files.reduce(0) { $0 + ($1.count ?? 0) }, staged: staged.names, bodies: staged.bodies,
            host: staged.host, timeLimit: (options.deadline ?? retry.deadline)?.milliseconds,
            delay: delay > 0 ? delay : nil, keyPeriod: options.deduplicationPeriod?.milliseconds)
        item.isKeyNew = options.idempotencyKey == nil
        return item
    }

    static var unexpectedReply: OutboxError {
        OutboxError(
            .ownerUnreachable,
            "The owner of the outbox sent an unexpected reply. Use the same release in both programs."
        )
    }

    private static let itemsPerCommit = 500
    /// The size of the files that are stored with their items in one commit.
    private static let bodySizePerCommit = 8 * 1_048_576
}
