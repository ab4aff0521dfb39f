import HTTPTypes
import WaybillCore

/// The state machine of a resumable upload, which turns events into actions. It uses no clock, transport or tasks, and
/// continues through all attempts of the upload.
///
/// ```
/// options → create → append … append (the last one) → the application's response
///                      ↑ ↓
/// (a new attempt) →  offset
/// ```
///
/// For any order of events, these invariants hold. A byte is appended only at the offset that the server reported. After
/// a request of unknown result, the server is asked for its offset before anything else is sent. A new upload replaces a
/// lost one only if no request that completes the body can have arrived. There is exactly one `finish` in an attempt,
/// and no action after it.
struct ResumeStateMachine: Sendable {
    /// The transmission of a request.
    struct Transmission: Sendable, Hashable {
        /// Whether the whole request was handed to the kernel.
        var isComplete = false
        /// The number of body bytes that the peer acknowledged.
        var acknowledged: Int64 = 0
        var time = Duration.zero
    }

    enum Event: Sendable, Hashable {
        /// An attempt begins.
        case begin
        /// An interim response arrived.
        case interim(ResumeReply)
        /// The request of the last `send` received a response.
        case replied(ResumeReply, Transmission)
        /// It received none.
        case failed(Transmission)
        /// The record of the last `save` was written, or could not be written.
        case saved(ResumeRecord)
        /// The wait is over.
        case waited
        /// The requests of the parts have ended, with these records. `areStored`: each part is stored completely.
        case partsEnded([ResumeRecord], areStored: Bool, acknowledged: Int64)
        /// The body was read up to this offset. `isEnd`: it ends there.
        case available(Int64, isEnd: Bool)
    }

    enum Action: Sendable, Hashable {
        case send(ResumeExchange)
        case wait(Duration)
        /// Read a range of the body without sending it, because it may end there, and send `available`.
        case read(Range<Int64>)
        /// Write the record to the disk, and send `saved`.
        case save(ResumeRecord)
        /// Remove the record. `isStored`: the server has the whole body.
        case forget(isStored: Bool)
        case stored(StoredProgress)
        /// Remove the upload at the server, without waiting for the response.
        case abandon(url: String)
        /// Keep the end of the last request for ``Ending/held``.
        case hold
        case finish(Ending)
    }

    /// The end of an attempt.
    enum Ending: Sendable, Hashable {
        /// The end of the last request, with the outcome that is known of the upload. `isFinal`: it is the response of
        /// the application.
        case last(isFinal: Bool)
        /// The end that was held.
        case held
        /// The upload can't continue.
        case failed(UploadError.Code, String, UploadOutcome)
    }

    let options: ResumeOptions
    /// The length of the body; `nil` until the end of a stream of unknown length is found.
    private(set) var knownLength: Int64?
    /// The length of the body, or `Int64.max` while it is unknown.
    var length: Int64 { knownLength ?? .max }
    /// The end of the bytes of a stream of unknown length that are available for an append.
    private var availableEnd: Int64 = 0
    /// Whether the upload was created without its length, so that the last append has to tell it to a tus server.
    var isLengthDeferred = false
    /// The URL of the request, to which locations are relative.
    var target: String
    /// Whether the body is a form, which tus does not support.
    let isForm: Bool
    /// Whether the upload is a part of another one. Then the server never acts on it.
    let isPart: Bool
    /// What is known of the server.
    var support: ResumeSupport
    var dialect = ResumeDialect.draft8
    var record: ResumeRecord
    var appendSize: AppendSize
    var step = Step.idle
    var counts = Counts()
    /// Whether a proxy does not allow the methods of the protocol.
    var avoidsMethods = false
    /// Whether a creation with content was lost or rejected, so that the next one has none.
    var createsWithoutContent = false
    /// Whether a request that completes the body may have arrived, and the server has not denied it since.
    var mayBeProcessed = false
    /// Whether the server has reported that it has acted on the upload.
    var isProcessed = false
    /// The end of the last append that is held while the server is asked for its state.
    var heldEnd = HeldEnd.none
    /// The number of questions since the last response to one.
    var unansweredQuestions = 0
    /// The end of the bytes that were ever sent. A server that reports more has stored them at a wrong place.
    var sentEnd: Int64 = 0
    /// The end of the bytes that the server can have, by the record on the disk. What is sent beyond it would look damaged
    /// to another process.
    var durableEnd: Int64 = 0
    /// Whether the record is that of an earlier process.
    let isLoaded: Bool
    /// Whether redirects of the upload's URL are followed.
    let followsRedirects: Bool
    /// The URL to which the upload's URL was redirected in this attempt.
    var redirectedURL: String?
    /// The range of an append without a response.
    var interrupted: Range<Int64>?
    /// The URL under which a tus server has stored the whole body.
    var storedURL: String?
    /// The URL in an interim response.
    var announcedURL: String?
    /// The number of stored bytes at the beginning of the attempt.
    var storedBefore: Int64 = 0
    /// The number of bytes of the current append that the peer has acknowledged.
    var acknowledged: Int64 = 0

    init(
        _ options: ResumeOptions, length: Int64?, target: String, isForm: Bool, support: ResumeSupport,
        followsRedirects: Bool = true, isPart: Bool = false, record: ResumeRecord? = nil
    ) {
        self.isPart = isPart
        self.followsRedirects = followsRedirects
        isLoaded = record != nil
        self.options = options
        knownLength = length
        self.target = target
        self.isForm = isForm
        self.support = support
        self.record = record ?? ResumeRecord(length: length ?? .max)
        appendSize = AppendSize(options)
        if let record {
            dialect = record.dialect
            // Until the server denies it: the process may have ended after the last request.
            mayBeProcessed = record.isCompleting
            // The append that was running when the process ended.
            sentEnd = record.sentEnd
            durableEnd = sentEnd
        }
    }

    /// Handles an event and returns the actions to perform.
    mutating func handle(_ event: Event) -> [Action] {
        if case .saved(let saved) = event, saved.url == record.url { durableEnd = max(durableEnd, saved.sentEnd) }
        return switch (step, event) {
        case (.idle, .begin): begin()
        case (.exchanging(let exchange), .interim(let reply)): interim(reply, during: exchange)
        case (.exchanging(let exchange), .replied(let reply, let transmission)):
            replied(reply, to: exchange, transmission)
        case (.exchanging(let exchange), .failed(let transmission)): failed(exchange, transmission)
        case (.saving, .saved(record)): continueUpload()
        case (.waiting, .waited): ask()
        case (.exchanging(.parts), .partsEnded(let parts, let areStored, let acknowledged)):
            partsEnded(parts, areStored: areStored, acknowledged: acknowledged)
        case (.reading, .available(let end, let isEnd)): available(end, isEnd: isEnd)
        default: []
        }
    }

    /// What the attempt has shown of the upload's fate.
    var outcome: UploadOutcome {
        if isProcessed { return .processed }
        if mayBeProcessed { return .unknown }
        let bytes = max(record.offset, acknowledged)
        return bytes == 0 && !record.canContinue ? .notSent : .incomplete(acknowledged: bytes)
    }

    /// Whether another attempt can't make the server act twice; `nil` if that depends on the method. tus creates an upload
    /// by POST, whatever the method.
    var isRepeatable: Bool? { record.url != nil || !mayBeProcessed ? true : dialect == .tus ? false : nil }
    /// Whether the server has stored more than before the attempt.
    var hasAdvanced: Bool { record.offset - storedBefore >= min(Self.smallestAdvance, max(1, length - storedBefore)) }
    /// Fewer bytes are no progress: a server could otherwise prolong an upload indefinitely.
    private static let smallestAdvance: Int64 = 16_384

    /// The values for the requests.
    func context(method: HTTPRequest.Method, metadata: String?) -> ResumeDialect.Context {
        ResumeDialect.Context(
            method: method, length: knownLength, isLengthDeferred: isLengthDeferred, isPart: isPart, metadata: metadata,
            avoidsMethods: avoidsMethods)
    }
}

// MARK: - Beginning

extension ResumeStateMachine {
    private mutating func begin() -> [Action] {
        counts = Counts()
        heldEnd = .none
        redirectedURL = nil
        acknowledged = 0
        // The same bytes, sent again to a server that has lost them, are no progress.
        storedBefore = max(storedBefore, record.offset)
        storedURL = nil
        if record.parts != nil { return continueParts() }
        guard record.url == nil else { return ask() }
        if support.isKnown || isPart { return choose() }
        dialect = .draft8
        return send(.options)
    }

    /// Chooses the protocol by what the server offers.
    mutating func choose() -> [Action] {
        let hasTus = support.tusVersions.contains(ResumeDialect.tusVersion)
        let takesLength = knownLength != nil || support.tusExtensions.contains("creation-defer-length")
        switch options.protocol.choice {
        case .tus:
            guard support.tusVersions.isEmpty || hasTus else { return failTusVersion(support.tusVersions) }
            guard support.tusVersions.isEmpty || takesLength else { return failUnknownLength() }
            dialect = .tus
        case .draft: dialect = support.usesDraft6 ? .draft6 : .draft8
        case .automatic:
            // An ordinary server would take an empty creation for the whole upload.
            let usesTus = hasTus && takesLength && !isForm
            guard usesTus || support.offersDraft, !support.isOrdinary else { return send(.ordinary) }
            dialect = usesTus ? .tus : support.usesDraft6 ? .draft6 : .draft8
        }
        if let limits = support.limits { record.limits = limits }
        if let minimum = record.limits.minimumLength, length < minimum, !isPart { return send(.ordinary) }
        return failIfTooLong() ?? createParts() ?? create()
    }

    mutating func create() -> [Action] {
        counts.creations += 1
        guard counts.creations <= Self.maximumCreations else {
            return fail(.resumptionFailed, "The server lost the upload repeatedly. Send it again later.")
        }
        announcedURL = nil
        record.dialect = dialect
        record.longestAppend = max(options.firstAppend.bytes, options.maximumAppend.bytes)
        isLengthDeferred = knownLength == nil
        record.checksum = options.checksums.lazy.compactMap { [dialect] in $0.name(in: dialect) }.first {
            dialect != .tus || support.tusChecksums.contains($0)
        }
        // Bytes are sent with the creation only where the server has shown that it reports the URL before they are lost.
        let carriesBody =
            dialect == .tus ? support.tusExtensions.contains("creation-with-upload") : support.sendsInterim
        guard carriesBody, !createsWithoutContent, !isLengthDeferred,
            let count = appendSize.length(at: 0, of: length, limits: record.limits)
        else {
            return send(.create(0..<0, isLast: length == 0))
        }
        record.longestAppend = max(record.longestAppend, count)
        return send(.create(0..<count, isLast: count == length && !isPart))
    }

    mutating func failIfTooLong() -> [Action]? {
        let bytes = knownLength ?? availableEnd
        guard let maximum = record.limits.maximumLength, bytes > maximum else { return nil }
        return abandonAndFail(
            .uploadTooLarge,
            "The body has \(knownLength == nil ? "at least " : "")\(bytes) bytes, and the server accepts at most "
                + "\(maximum) bytes.")
    }

    private mutating func failUnknownLength() -> [Action] {
        fail(
            .resumptionUnsupported,
            "The server does not support uploads of unknown length (the extension creation-defer-length of tus). "
                + "Provide the length of the stream.")
    }

    mutating func failTusVersion(_ versions: [String]) -> [Action] {
        fail(
            .resumptionUnsupported,
            "The server supports tus \(Redaction.escaped(versions.joined(separator: ", "))), and the upload needs tus "
                + "\(ResumeDialect.tusVersion).")
    }

    private static let maximumCreations = 2
}

// MARK: - Steps

extension ResumeStateMachine {
    mutating func send(_ exchange: ResumeExchange) -> [Action] {
        step = .exchanging(exchange)
        if let range = exchange.range { sentEnd = max(sentEnd, range.upperBound) }
        return [.send(exchange)]
    }

    /// Asks the server how much it has stored.
    mutating func ask() -> [Action] {
        counts.questions += 1
        guard counts.questions <= Self.maximumQuestions else {
            return fail(
                .resumptionFailed, "The upload made no progress: the server's responses contradict its state.")
        }
        return send(.offset)
    }

    /// Sends the next part of the body.
    mutating func continueUpload() -> [Action] {
        if let parts = record.parts { return concatenate(parts) }
        guard record.offset < length || dialect != .tus || isLengthDeferred else {
            return isPart ? finishWithResponse() : ask()
        }
        guard let count = appendSize.length(at: record.offset, of: length, limits: record.limits) else {
            return fail(.resumptionFailed, "The limits of the server allow no append.")
        }
        guard ((knownLength ?? 0) - record.offset) / max(1, count) <= Self.maximumAppends else {
            return fail(
                .resumptionFailed, "The server accepts at most \(count) bytes at a time, too few for \(length) bytes.")
        }
        let range = record.offset..<record.offset + count
        // The last append is marked as such, so one more byte is needed to know that this is not the last.
        if knownLength == nil, availableEnd <= range.upperBound {
            step = .reading
            return [.read(availableEnd..<range.upperBound + 1)]
        }
        let isLast = range.upperBound == length && !isPart
        // On the disk first: after a crash, the record alone tells that the server may have acted, and how many bytes it
        // can have.
        if isLast && !record.isCompleting || durableEnd < range.upperBound {
            record.isCompleting = record.isCompleting || isLast
            record.longestAppend = max(record.longestAppend, count)
            return save()
        }
        acknowledged = record.offset
        return send(.append(range, isLast: isLast))
    }

    private mutating func available(_ end: Int64, isEnd: Bool) -> [Action] {
        availableEnd = end
        if isEnd { knownLength = end }
        return failIfTooLong() ?? continueUpload()
    }

    mutating func save() -> [Action] {
        step = .saving
        return [.save(record)]
    }

    /// Waits because another request uses the upload, for example an interrupted one that the server has not noticed.
    mutating func waitForLock() -> [Action] {
        counts.locks += 1
        counts.questions = 0
        guard counts.locks <= Self.maximumLocks else {
            return fail(
                .resumptionFailed, "Another request has locked the upload at the server. Send it again later.")
        }
        step = .waiting
        return [.wait(.seconds(min(1 << (counts.locks - 1), Self.longestLockWait)))]
    }

    /// Takes a number of stored bytes that the server confirmed. The record is written without waiting for it: an older
    /// one only makes the server be asked.
    mutating func confirm(_ offset: Int64) -> [Action] {
        let isNew = offset != record.offset && record.url != nil
        // Progress: the limit applies to questions without it.
        if offset > record.offset { counts.questions = 0 }
        record.offset = offset
        acknowledged = offset
        let stored = Action.stored(StoredProgress(bytes: offset, isConfirmed: true))
        return isNew ? [.save(record), stored] : [stored]
    }

    private static let maximumQuestions = 8
    private static let maximumAppends: Int64 = 100_000
    private static let maximumLocks = 8
    private static let longestLockWait = 16
}
