import HTTPTypes
import WaybillCore

/// A resumable upload through all its attempts: the state machine, and what its requests share.
final class ResumableUpload: Sendable {
    private let machine: Locked<ResumeStateMachine>
    let body: any UploadBody
    private let metadata: String?
    /// The fields that may be sent to another origin.
    private let harmless: Set<HTTPField.Name>
    /// The request of the current attempt as it would be sent without resumption.
    private let template = Locked<TransferRequest?>(nil)
    private let store: (any ResumeRecordStorage)?
    private let support: ResumeSupportCache
    private let options: ResumeOptions
    private let followsRedirects: Bool
    /// The parts that are uploaded concurrently, once there are any.
    private let parts = Locked<ResumableParts?>(nil)

    /// Creates an upload of a body.
    ///
    /// - Parameters:
    ///   - body: The body; it must be replayable.
    ///   - length: Its length, or `nil` if it is unknown before the end of the body is reached.
    ///   - options: The options.
    ///   - url: The URL of the request.
    ///   - support: What the session knows of servers.
    ///   - metadata: The metadata field of a tus upload.
    ///   - harmless: The fields that may be sent to another origin.
    ///   - followsRedirects: Whether redirects of the upload's URL are followed.
    ///   - store: The storage of the record, or `nil` to keep it in memory only.
    ///   - record: The record of an earlier process.
    ///   - isPart: Whether the body is a part of that of another upload.
    init(
        _ body: any UploadBody, length: Int64?, options: ResumeOptions, url: String, support: ResumeSupportCache,
        metadata: String?, harmless: Set<HTTPField.Name>, followsRedirects: Bool,
        store: (any ResumeRecordStorage)? = nil, record: ResumeRecord? = nil, isPart: Bool = false
    ) {
        self.body = body
        self.metadata = metadata
        self.harmless = harmless
        self.store = store
        self.support = support
        self.options = options
        self.followsRedirects = followsRedirects
        machine = Locked(
            ResumeStateMachine(
                options, length: length, target: url, isForm: !body.parts.isEmpty, support: support[url],
                followsRedirects: followsRedirects, isPart: isPart, record: record))
    }

    /// Sets the request of an attempt as it would be sent without resumption. A redirect may have changed its URL.
    func setTemplate(_ request: TransferRequest) {
        template.withLock { $0 = request }
        let url = request.url
        let support = support[url]
        machine.withLock { machine in
            guard machine.target != url else { return }
            machine.target = url
            if machine.record.url == nil { machine.support = support }
        }
    }

    /// Handles an event of an attempt and returns its actions.
    func handle(_ event: ResumeStateMachine.Event) -> [ResumeStateMachine.Action] {
        let (actions, learned) = machine.withLock { machine in
            let before = machine.support
            let actions = machine.handle(event)
            return (actions, machine.support == before ? nil : (machine.target, machine.support))
        }
        if let (target, now) = learned { support[target] = now }
        return actions
    }

    /// The outcome after an attempt, and whether another one is safe and makes progress likely.
    var summary: (outcome: UploadOutcome, isRepeatable: Bool?, hasAdvanced: Bool) {
        machine.withLock { ($0.outcome, $0.isRepeatable, $0.hasAdvanced) }
    }

    /// The checksum for the bytes of an exchange; `nil` if it has none.
    func checksum(for exchange: ResumeExchange) -> (checksum: ResumeChecksum, range: Range<Int64>)? {
        guard !options.checksums.isEmpty, let range = exchange.range, !range.isEmpty else { return nil }
        let (dialect, name) = machine.withLock { ($0.dialect, $0.record.checksum) }
        guard let name, let checksum = options.checksums.first(where: { $0.name(in: dialect) == name })
        else { return nil }
        return (checksum, range)
    }

    /// The length of the body, or `nil` if its end has not been reached.
    var length: Int64? { machine.withLock { $0.knownLength } }

    /// The URL under which a tus server has stored the whole body.
    var storedURL: String? { machine.withLock { $0.storedURL } }

    /// Ends an attempt that was cancelled, whatever it was doing.
    ///
    /// - Parameter mayBeProcessed: Whether a request that completes the body was sent and has no response.
    func stop(mayBeProcessed: Bool) {
        machine.withLock { machine in
            machine.step = .idle
            if mayBeProcessed { machine.mayBeProcessed = true }
        }
    }

    /// Forgets the upload and returns the requests that remove it, and all its parts, from the server. There are none if
    /// it was not created, or if the server may have acted.
    func takeRemovals() -> [TransferRequest] {
        let url = machine.withLock { machine -> String?? in
            guard !machine.mayBeProcessed, !machine.isProcessed, machine.record.canContinue else { return nil }
            machine.record.parts = nil
            return machine.record.url.take()
        }
        guard let url else { return [] }
        let parts = parts.withLock { $0.take() }?.uploads.flatMap { $0.takeRemovals() } ?? []
        store?.remove(isStored: false)
        return parts + (url.flatMap { request(for: .delete, url: $0) }.map { [$0] } ?? [])
    }

    /// Reads the messages of a dialect.
    func reply(_ head: HTTPResponse, to exchange: ResumeExchange) -> ResumeReply {
        let dialect = machine.withLock { $0.dialect }
        return exchange == .options ? dialect.offer(head) : dialect.reply(head)
    }

    /// Writes the record; calls the closure when it is on the disk, or could not be written.
    func save(_ record: ResumeRecord, then: @escaping @Sendable () -> Void) {
        guard let store else { return then() }
        store.save(record, then: then)
    }

    /// Removes the record, because the server has the whole body or because it has lost the upload.
    func forget(isStored: Bool) {
        // Later parts are those of the record.
        parts.withLock { $0 = nil }
        store?.remove(isStored: isStored)
    }

    /// Releases the record for other uploads, and then calls the closure.
    func close(then: @escaping @Sendable () -> Void) {
        guard let store else { return then() }
        store.close(then: then)
    }
}

// MARK: - Parts

extension ResumableUpload {
    /// Returns the parts for an attempt, and the rate limit of all of them together; `nil` before the first attempt.
    func partsForAttempt() -> (parts: ResumableParts, rateLimit: ByteCount?)? {
        guard var template = template.withLock({ $0 }) else { return nil }
        let (record, url) = machine.withLock { ($0.record, $0.target) }
        let current = parts.withLock { parts in
            let current = parts ?? makeParts(record, url: url)
            parts = current
            return current
        }
        current.storage.set(record)
        let rateLimit = template.options.rateLimit
        template.options.rateLimit = rateLimit?.share(of: current.uploads.count)
        for part in current.uploads { part.setTemplate(template) }
        return (current, rateLimit)
    }

    private func makeParts(_ record: ResumeRecord, url: String) -> ResumableParts {
        var options = options
        // A part can't be sent as an ordinary request.
        options.protocol = .tus
        let storage = PartRecords(record, store)
        var start: Int64 = 0
        var uploads: [ResumableUpload] = []
        for (index, part) in (record.parts ?? []).enumerated() {
            let range = start..<start + part.length
            start = range.upperBound
            uploads.append(
                ResumableUpload(
                    RangeBody(body, range: range), length: part.length, options: options, url: url, support: support,
                    metadata: nil, harmless: harmless, followsRedirects: followsRedirects,
                    store: PartRecord(index: index, records: storage), record: part.url == nil ? nil : part,
                    isPart: true))
        }
        return ResumableParts(uploads: uploads, storage: storage)
    }

    /// The records of the parts; empty if there are none.
    var partRecords: [ResumeRecord] { parts.withLock { $0 }?.storage.parts ?? [] }
}

extension ResumableUpload {
    /// Returns the request of an exchange.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - hash: The hash of its bytes, if it has a checksum.
    ///   - other: The URL of the upload, if it is not the current one.
    /// - Returns: The request, or `nil` before the first attempt.
    func request(
        for exchange: ResumeExchange, hash: [UInt8]? = nil, url other: String? = nil
    ) -> TransferRequest? {
        guard let template = template.withLock({ $0 }) else { return nil }
        guard exchange != .ordinary else { return template }
        let (dialect, context, target, upload) = machine.withLock { machine in
            (
                machine.dialect, machine.context(method: template.method, metadata: metadata), machine.target,
                machine.redirectedURL ?? machine.record.url
            )
        }
        let parts = dialect.request(for: exchange, context)
        var request = template
        request.method = parts.method
        request.url = parts.isToUpload ? other ?? upload ?? target : target
        if !parts.describesBody {
            let key = request.headers[.idempotencyKey]
            for name in RequestPlan.contentFields { request.headers[name] = nil }
            if parts.createsUpload { request.headers[.idempotencyKey] = key }
        }
        if !Self.isSameOrigin(request.url, target) {
            request.headers = HTTPFields(request.headers.filter { harmless.contains($0.name) })
            request.options.tls.clientCertificate = nil
            request.options.digest = nil
        }
        for field in parts.fields { request.headers[field.name] = field.value }
        if let hash, let name = machine.withLock({ $0.record.checksum }) {
            let field = dialect.checksumField(name, hash)
            request.headers[field.name] = field.value
        }
        request.body = exchange.range.map { RangeBody(body, range: $0) }
        switch exchange {
        case .options, .delete:
            request.options.limits.response = min(request.options.limits.response, Self.shortLimit)
            request.options.limits.connect = min(request.options.limits.connect, Self.shortLimit)
        default: break
        }
        return request
    }

    /// The limit for requests whose failure has no consequence.
    private static let shortLimit = Duration.seconds(5)

    private static func isSameOrigin(_ url: String, _ other: String) -> Bool {
        (try? RequestTarget(url)) == (try? RequestTarget(other))
    }
}

/// What the uploads of a session have learned of servers, by URL without query. Bounded.
final class ResumeSupportCache: Sendable {
    private struct Entry {
        var support: ResumeSupport
        var until: ContinuousClock.Instant
    }
    private let entries = Locked<[String: Entry]>([:])

    subscript(url: String) -> ResumeSupport {
        get {
            let key = Self.key(url)
            return entries.withLock { entries in
                guard let entry = entries[key], entry.until > .now else { return ResumeSupport() }
                return entry.support
            }
        }
        set {
            guard newValue.isKnown else { return }
            let key = Self.key(url)
            entries.withLock { entries in
                if entries[key]?.support == newValue { return }
                // A new server is asked again, so forgetting all costs one request each.
                if entries.count >= Self.maximumCount { entries = [:] }
                entries[key] = Entry(support: newValue, until: .now + Self.lifetime)
            }
        }
    }

    private static func key(_ url: String) -> String { String(url.prefix { $0 != "?" }) }
    private static let maximumCount = 256
    private static let lifetime = Duration.seconds(86_400)
}
