import HTTPTypes
import CWaybillCurl
import WaybillCore

/// One attempt on the engine's thread: what libcurl's callbacks talk to.
///
/// It is made by the caller and handed to the engine with its first command; from then on only the engine's thread
/// touches what changes. That hand-over is what `@unchecked` stands for.
final class CurlTransfer: @unchecked Sendable {
    let request: TransferRequest
    var sink: (any TransferSink)?

    private(set) var easy: EasyHandle?
    /// What libcurl calls the transfer by.
    private(set) var address: UInt = 0
    var isRunning = false
    private var headers = StringList()
    /// Those of the request that asks for a challenge.
    private var askingHeaders = StringList()
    private var resolve = StringList()
    private var lists: [OwnedList] = []
    /// Only while the engine has it: a weak reference would make all others to either of them slower.
    var engine: CurlEngine?

    var feed: BodyFeed?
    private(set) var assembler: ResponseAssembler
    private var watch: TransferWatch
    var probe: SocketProbe?
    private(set) var connection: TransferConnection?
    private(set) var origin = ""
    private(set) var asksLeave = false
    /// Whether the request under way has no body and only asks for a Digest challenge, or was not asked for one.
    private(set) var isAskingForChallenge = false
    /// Whether the request goes out again after a 417, without the question.
    private(set) var wasRefusedLeave = false
    /// Whether libcurl was told to pause by the caller.
    private var isPaused = false
    private var pacer: SendPacer
    var direct: DirectSend
    private let isSealed: Bool
    private var sealed = SealedCount()
    /// Of a body of unknown length, libcurl counts the frames of its chunks, too: so many bytes, but for the one under way.
    private var framing: Int64 = 0
    /// When the body may go on that was held back for its rate, or for an acknowledgement.
    private(set) var heldUntil: ContinuousClock.Instant?
    /// Whether the head of the request still has to leave before the body is read.
    var holdsBody = false
    /// Why the transfer is being ended by us, which libcurl then reports as an aborted callback.
    var ownFailure: (code: TransferError.Code, message: String, cause: (any Error)?)?
    private var began = ContinuousClock.now
    /// From the start to the last status line, which is that of the final answer. libcurl's own figure stops at the first byte
    /// that is sent.
    private(set) var untilAnswer = Duration.zero
    private var reported: TransferProgress?
    private var lastSeen: TransferProgress?
    /// The round of the engine in which libcurl last read from a tunnel, and when it began to.
    var tunnelLoop: (round: Int, began: ContinuousClock.Instant)?
    /// Whether the peer had not acknowledged all that was written, at the last look.
    private var hasPendingBytes = false
    private(set) var hasReportedAcknowledged = false
    /// Whether a response came over HTTP/2 before the whole body had left. libcurl 8.4 and later then drop the rest of the body
    /// when the server ends the stream, and count it as sent.
    var wasAnsweredEarly = false
    /// The most that was ever handed to the kernel. libcurl sets its own count to zero before it asks to send again.
    private(set) var mostSent: Int64 = 0

    init(_ request: TransferRequest, sink: any TransferSink) {
        self.request = request
        self.sink = sink
        assembler = ResponseAssembler(limits: request.options.limits)
        watch = TransferWatch(limits: request.options.limits, now: .now)
        pacer = SendPacer(rate: request.options.rateLimit)
        direct = DirectSend(request)
        isSealed = request.isSealed
    }

    // MARK: - Start

    /// Makes the body's reader and readies a handle.
    func begin(on engine: CurlEngine, handle: EasyHandle, wake: @escaping @Sendable () -> Void) throws(TransferError) {
        self.engine = engine
        origin = try engine.origins.check(request)
        if let body = request.body, body.length != 0 {
            do {
                feed = try BodyFeed(body, wake: wake)
            } catch {
                throw TransferError(.bodyFailed, "The body can't be read: \(error)", outcome: .notSent, cause: error)
            }
        }
        if direct.isOpen { feed?.allowSending() }
        isAskingForChallenge = request.options.digest != nil
        asksLeave = request.wantsLeave && engine.expectations.isWorthAsking(origin)
        headers = .headers(of: request, asksLeave: asksLeave)
        if isAskingForChallenge { askingHeaders = .headers(of: request, asksLeave: asksLeave, isQuestion: true) }
        resolve = .connectTo(request.options.resolve)
        handle.reset()
        handle.configure(for: request, isAlone: engine.isIdle, headers: headers, resolve: resolve)
        if isAskingForChallenge { handle.set(CURLOPT_HTTPHEADER, askingHeaders) }
        do {
            lists = try handle.set(request.options.curlOptions)
            handle.keepFromReuse(request)
        } catch {
            closeBody()
            throw error
        }
        handle.setCallbacks(transfer: self, engine: engine)
        if let (option, code) = handle.refusal {
            closeBody()
            throw TransferError(
                .invalidRequest, "libcurl refuses option \(option.rawValue): \(CurlFailure.quote(code)).",
                outcome: .notSent)
        }
        address = handle.address
        easy = handle
        began = .now
        watch = TransferWatch(limits: request.options.limits, now: began)
        isRunning = true
    }

    func join(_ multi: borrowing MultiHandle) -> CURLMcode {
        multi.add(easy!)
    }

    /// Takes the transfer out of libcurl's hands. An unfinished one's socket is closed by this.
    func leave(_ multi: borrowing MultiHandle) -> EasyHandle? {
        if let easy { multi.remove(easy) }
        if let socket = probe?.socket { engine?.sockets.forget(self, on: socket) }
        defer { (easy, engine) = (nil, nil) }
        return easy
    }

    func closeBody() {
        feed?.close()
    }

    // MARK: - Called by libcurl

    /// The request is about to be written.
    ///
    /// - Returns: Whether it may be. libcurl comes here a second time when it wants to send a request again.
    func connectionIsReady(_ ends: ConnectionEnds) -> Bool {
        guard connection == nil || maySendAgain else {
            if !isAnswered { ownFailure = (.connectionLost, "The connection broke before an answer came.", nil) }
            return false
        }
        if isAskingForChallenge, assembler.head != nil {
            isAskingForChallenge = false
            assembler.startOver()
            // libcurl writes the request after it has asked here.
            easy!.set(CURLOPT_HTTPHEADER, headers)
        }
        assembler.requestBegins()
        let isReused = easy!.long(CURLINFO_NUM_CONNECTS) == 0
        let connection = TransferConnection(
            isReused: isReused, peerAddress: request.options.unixSocket ?? ends.peerAddress,
            peerPort: Int(ends.peerPort))
        let isFirst = self.connection == nil
        self.connection = connection
        // A connection of HTTP/2 is shared; what the kernel counts there is not this transfer's.
        if !mayUseHTTP2 { probe = engine?.sockets.claim(ends, for: self) }
        // What would be read next is no response to this request.
        if isReused, probe?.hasInput == true {
            ownFailure = (
                .connectionLost, "The server had closed the connection, or sent an answer that nobody asked for.", nil
            )
            return false
        }
        (sealed, framing) = (SealedCount(), 0)
        if isFirst { sink?.transfer(.connected(connection)) }
        if assembler.head?.status.code == 417 { wasRefusedLeave = true }
        holdHead()
        holdsBody = isReused && needsOwnSegments
        return true
    }

    /// libcurl writes the head of a request by itself; waiting for the first bytes of the body, which follow at once, spares
    /// a packet and the peer a wake-up.
    ///
    /// Not where both would fit into one segment, the largest of which has just under 64 KiB: what the peer's kernel
    /// acknowledges of a request that is read and then reset rests on there being two (decision 0003).
    private func holdHead() {
        guard let length = request.body?.length, length > 64 << 10, !asksLeave, !isAskingForChallenge else { return }
        holdSegments()
    }

    /// Has the kernel wait with what is less than a segment until libcurl's round is over.
    private func holdSegments() {
        guard probe != nil, let engine else { return }
        probe!.holdSegments(true)
        engine.held.append(self)
    }

    /// Whether the server can't have acted on what was sent so far: it asked for the request again without a question
    /// (417) or with credentials (401), or no byte of the body was handed over of a request that has one.
    private var maySendAgain: Bool {
        guard (feed?.handedOver ?? 0) == 0, !isChallengedAgain else { return false }
        return feed != nil || assembler.head?.status.code == 417 || isAskingForChallenge && assembler.head != nil
    }

    /// Whether the server wants other credentials than those that answered its challenge: its nonce grew old meanwhile, or
    /// so it says. What was answered goes out again by another attempt, or not at all; else it could go on for ever.
    var isChallengedAgain: Bool {
        request.options.digest != nil && !isAskingForChallenge && assembler.head?.status.code == 401
    }

    /// Whether libcurl wants to send the request again that has its answer: a challenge to answered credentials, or a 417 to the
    /// whole body, of which libcurl does not know that all of it was sent where some went past it.
    var isAnswered: Bool {
        isChallengedAgain || assembler.head?.status.code == 417 && feed.map { isHandedOver($0.handedOver) } == true
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFeed.Answer {
        guard feed != nil else { return .bytes(0) }
        // libcurl forgets a pause that comes before the connection is there.
        guard !isPaused, !waitsForHead() else { return .pause }
        heldUntil = nil
        let most = pacer.rate == nil ? sendDirectly(buffer.count) : pacedRoom()
        guard let most, let room = readable(most) else { return .pause }
        // What was handed over before has left, and what libcurl counts beyond it are the frames of chunks.
        if feed!.length == nil { framing = max(framing, uploaded - feed!.handedOver) }
        if isSealed, let written = probe?.writtenAtMost {
            sealed.level(body: uploaded - framing, writtenAtMost: written)
        }
        let answer = unsafe feed!.fill(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room)))
        if case .bytes(let count) = answer {
            pacer.spend(count)
            if isSealed, count > SealedCount.record { holdSegments() }
        }
        if answer == .abort, let failure = feed?.failure {
            ownFailure = (.bodyFailed, "The body can't be read: \(failure)", failure)
        }
        return answer
    }

    /// How many bytes the rate lets leave now; `nil` when it has to be asked again at ``heldUntil``.
    private func pacedRoom() -> Int? {
        let now = ContinuousClock.now
        let room = pacer.room(now: now)
        if room == 0 { hold(until: pacer.due(now: now)) }
        return room == 0 ? nil : room
    }

    func hold(until due: ContinuousClock.Instant) {
        heldUntil = due
        engine?.release(by: due)
    }

    /// libcurl rewinds a body to send it again: for a connection that died under it, among others. Only a body of which
    /// no byte was handed over may go on; sending again is decided above, by what was seen.
    func allowsRewind(to offset: Int) -> Bool {
        mostSent = max(mostSent, feed?.handedOver ?? 0)
        return offset == 0 && mostSent == 0
    }

    func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            let line = unsafe Span<UInt8>(_unsafeBytes: bytes)
            // "HTTP/" begins a head; no field has a slash in its name.
            if line.count > 4, line[4] == UInt8(ascii: "/") {
                untilAnswer = .now - began
                noteAnswer()
            }
            if try assembler.takeLine(line), let head = assembler.head, !isQuestionRefused(head), !isAskingForChallenge
            {
                tell(head)
            }
            return true
        } catch {
            refuse(error)
            return false
        }
    }

    func takeResponseBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            try unsafe assembler.takeBody(bytes)
            return true
        } catch {
            refuse(error)
            return false
        }
    }

    func socketWillBeLetGo() {
        mostSent = max(mostSent, uploaded - framing)
        probe?.letGo()
    }

    /// Whether the head is a 417 to our own question, after which the request goes out again without it.
    private func isQuestionRefused(_ head: HTTPResponse) -> Bool {
        asksLeave && !wasRefusedLeave && head.status.code == 417
    }

    private func refuse(_ failure: ResponseAssembler.Failure) {
        let (code, message) = CurlFailure.error(for: failure, limits: request.options.limits)
        ownFailure = (code, message, nil)
    }

    // MARK: - Steered by the engine

    /// Looks at the clock and at the socket, and reports.
    ///
    /// - Returns: The limit that ran out, if one has.
    func tick(now: ContinuousClock.Instant) -> TransferError.Code? {
        let (progress, isAcknowledged) = look()
        report(progress, isAcknowledged: isAcknowledged)
        let sight = TransferWatch.Sight(
            isConnected: connection != nil, isPaused: isPaused, handedOver: feed?.handedOver ?? 0, sent: progress.sent,
            acknowledged: progress.acknowledged, hasPendingBytes: hasPendingBytes,
            hasEarlyAnswer: mayUseHTTP2 && assembler.head != nil,
            isRequestAcknowledged: isAcknowledged || isAskingForChallenge)
        return watch.check(sight, now: now)
    }

    func setPaused(_ paused: Bool) {
        guard isRunning, isPaused != paused else { return }
        isPaused = paused
        applyPause()
    }

    /// The body has something again.
    func bodyIsReadable() {
        guard isRunning, feed?.isWaiting == true, !isPaused else { return }
        applyPause()
    }

    func limit(to rate: ByteCount?) {
        guard isRunning else { return }
        pacer.limit(to: rate, now: .now)
        if heldUntil != nil { goOn() }
    }

    /// Lets a body go on that was held back for its rate, if it is time.
    func goOnIfDue(_ now: ContinuousClock.Instant) {
        if let due = heldUntil, due <= now { goOn() }
    }

    private func goOn() {
        heldUntil = nil
        if isRunning, !isPaused { applyPause() }
    }

    private func applyPause() {
        unsafe curl_easy_pause(easy!.raw, isPaused ? CURLPAUSE_ALL : CURLPAUSE_CONT)
    }

    // MARK: - What is seen

    /// The position in the body, and whether the peer has acknowledged all of the request.
    func look() -> (TransferProgress, isRequestAcknowledged: Bool) {
        guard connection != nil else { return (TransferProgress(sent: 0, acknowledged: 0, accuracy: accuracy), false) }
        var sent = min(uploaded - framing, feed?.handedOver ?? 0)
        // When all has arrived there is nothing more to see, and looking takes two system calls.
        if hasReportedAcknowledged, let last = lastSeen, last.sent == sent { return (last, true) }
        hasPendingBytes = false
        guard let sample = probe?.sample() else {
            return (TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated), isHandedOver(sent))
        }
        sent = max(sent, min(sealed.left(writtenAtLeast: sample.written), feed?.handedOver ?? 0))
        let pending = Int64(sample.pending)
        hasPendingBytes = pending > 0
        let acknowledged = max(reported?.acknowledged ?? 0, max(0, sent - pending))
        let progress = TransferProgress(sent: sent, acknowledged: min(sent, acknowledged), accuracy: accuracy)
        lastSeen = progress
        return (progress, isHandedOver(sent) && pending == 0)
    }

    /// How many bytes of the body were given to the kernel, by libcurl or past it.
    var uploaded: Int64 {
        (easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0) + (feed?.sentDirectly ?? 0)
    }

    func isHandedOver(_ sent: Int64) -> Bool {
        guard let feed else { return connection != nil }
        return feed.length.map { sent >= $0 } ?? feed.isAtEnd
    }

    private var accuracy: ProgressAccuracy {
        if let feed, feed.length == nil { return .estimated }
        if mayUseHTTP2 || request.isOverTLS { return .estimated }
        return request.options.proxy == nil ? .exact : .acknowledgedByProxy
    }

    func report(_ progress: TransferProgress, isAcknowledged: Bool) {
        guard let sink, connection != nil else { return }
        if sink.wantsProgress, progress != reported {
            reported = progress
            sink.transfer(.progress(progress))
        }
        if isAcknowledged, !hasReportedAcknowledged, feed != nil {
            hasReportedAcknowledged = true
            sink.transfer(.bodyAcknowledged)
        }
    }
}
