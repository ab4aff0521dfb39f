import HTTPTypes
import CWaybillCurl
import WaybillCore

/// One attempt on the engine's thread: what libcurl's callbacks talk to.
///
/// It is made by the caller and handed to the engine with its first command; from then on only the engine's thread
/// touches what changes. That hand-over is what `@unchecked` stands for.
final class CurlTransfer: @unchecked Sendable {
    let request: TransferRequest
    private(set) var sink: (any TransferSink)?

    private var easy: EasyHandle?
    /// What libcurl calls the transfer by.
    private(set) var address: UInt = 0
    private(set) var isRunning = false
    private var headers = StringList()
    private var resolve = StringList()
    private weak var engine: CurlEngine?

    private var feed: BodyFeed?
    private var assembler: ResponseAssembler
    private var watch: TransferWatch
    private var probe: SocketProbe?
    private var connection: TransferConnection?
    private var origin = ""
    private var asksLeave = false
    /// Whether the request goes out again after a 417, without the question.
    private var wasRefusedLeave = false
    /// Whether libcurl was told to pause by the caller.
    private var isPaused = false
    /// Why the transfer is being ended by us, which libcurl then reports as an aborted callback.
    private var ownFailure: (code: TransferError.Code, message: String, cause: (any Error)?)?
    private var reported: TransferProgress?
    private var hasReportedAcknowledged = false
    /// The most that was ever handed to the kernel. libcurl sets its own count to zero before it asks to send again.
    private var mostSent: Int64 = 0

    init(_ request: TransferRequest, sink: any TransferSink) {
        self.request = request
        self.sink = sink
        assembler = ResponseAssembler(limits: request.options.limits)
        watch = TransferWatch(limits: request.options.limits, now: .now)
    }

    // MARK: - Start

    /// Makes the body's reader and readies a handle.
    func begin(on engine: CurlEngine, handle: EasyHandle, wake: @escaping @Sendable () -> Void) throws(TransferError) {
        self.engine = engine
        origin = try RequestCheck.check(request)
        if let body = request.body, body.length != 0 {
            do {
                feed = try BodyFeed(body, wake: wake)
            } catch {
                throw TransferError(.bodyFailed, "The body can't be read: \(error)", outcome: .notSent, cause: error)
            }
        }
        asksLeave = request.wantsLeave && engine.expectations.isWorthAsking(origin)
        headers = .headers(of: request, asksLeave: asksLeave)
        resolve = .connectTo(request.options.resolve)
        handle.reset()
        handle.configure(for: request, headers: headers, resolve: resolve)
        handle.setCallbacks(transfer: self, engine: engine)
        if let (option, code) = handle.refusal {
            closeBody()
            throw TransferError(
                .invalidRequest, "libcurl refuses option \(option.rawValue): \(OutcomeTable.quote(code)).",
                outcome: .notSent)
        }
        address = handle.address
        easy = handle
        watch = TransferWatch(limits: request.options.limits, now: .now)
        isRunning = true
    }

    func join(_ multi: borrowing MultiHandle) -> CURLMcode {
        multi.add(easy!)
    }

    /// Takes the transfer out of libcurl's hands. An unfinished one's socket is closed by this.
    func leave(_ multi: borrowing MultiHandle) -> EasyHandle? {
        defer { easy = nil }
        if let easy { multi.remove(easy) }
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
            ownFailure = (.connectionLost, "The connection broke before an answer came.", nil)
            return false
        }
        let isReused = easy!.long(CURLINFO_NUM_CONNECTS) == 0
        let connection = TransferConnection(
            isReused: isReused, peerAddress: ends.peerAddress, peerPort: Int(ends.peerPort))
        let isFirst = self.connection == nil
        self.connection = connection
        // A connection of HTTP/2 is shared; what the kernel counts there is not this transfer's.
        if request.options.httpVersion == .http1 { probe = engine?.sockets.claim(ends, for: self) }
        if isReused, probe?.hasUnaskedInput == true {
            ownFailure = (
                .connectionLost, "The server had closed the connection, or sent an answer that nobody asked for.", nil
            )
            return false
        }
        if isFirst { sink?.transfer(.connected(connection)) }
        if assembler.head?.status.code == 417 { wasRefusedLeave = true }
        return true
    }

    /// Whether the server can't have acted on what was sent so far: it asked for the request again without a question
    /// (417), or no byte of the body was handed over of a request that has one.
    private var maySendAgain: Bool {
        guard (feed?.handedOver ?? 0) == 0 else { return false }
        return feed != nil || assembler.head?.status.code == 417
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFeed.Answer {
        guard feed != nil else { return .bytes(0) }
        // libcurl forgets a pause that comes before the connection is there.
        guard !isPaused else { return .pause }
        let answer = unsafe feed!.fill(buffer)
        if answer == .abort, let failure = feed?.failure {
            ownFailure = (.bodyFailed, "The body can't be read: \(failure)", failure)
        }
        return answer
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
            if try assembler.takeLine(line), let head = assembler.head, !isQuestionRefused(head) {
                sink?.transfer(.responseHead(head))
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
        if let easy { mostSent = max(mostSent, easy.offset(CURLINFO_SIZE_UPLOAD_T)) }
        probe?.letGo()
    }

    /// Whether the head is a 417 to our own question, after which the request goes out again without it.
    private func isQuestionRefused(_ head: HTTPResponse) -> Bool {
        asksLeave && !wasRefusedLeave && head.status.code == 417
    }

    private func refuse(_ failure: ResponseAssembler.Failure) {
        let (code, message) = OutcomeTable.error(for: failure, limits: request.options.limits)
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
            acknowledged: progress.acknowledged,
            hasEarlyAnswer: request.options.httpVersion == .http2 && assembler.head != nil,
            isRequestAcknowledged: isAcknowledged)
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
        easy!.setRateLimit(rate)
    }

    private func applyPause() {
        unsafe curl_easy_pause(easy!.raw, isPaused ? CURLPAUSE_ALL : CURLPAUSE_CONT)
    }

    // MARK: - What is seen

    /// The position in the body, and whether the peer has acknowledged all of the request.
    private func look() -> (TransferProgress, isRequestAcknowledged: Bool) {
        guard connection != nil else { return (TransferProgress(sent: 0, acknowledged: 0, accuracy: accuracy), false) }
        // Of a body of unknown length, libcurl counts the framing of its chunks too.
        let sent = min(easy!.offset(CURLINFO_SIZE_UPLOAD_T), feed?.handedOver ?? 0)
        guard let sample = probe?.sample() else {
            return (TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated), isHandedOver(sent))
        }
        let pending = Int64(sample.pending)
        let acknowledged = max(reported?.acknowledged ?? 0, max(0, sent - pending))
        let progress = TransferProgress(sent: sent, acknowledged: min(sent, acknowledged), accuracy: accuracy)
        return (progress, isHandedOver(sent) && pending == 0)
    }

    private func isHandedOver(_ sent: Int64) -> Bool {
        guard let feed else { return connection != nil }
        return feed.length.map { sent >= $0 } ?? feed.isAtEnd
    }

    private var accuracy: ProgressAccuracy {
        if let feed, feed.length == nil { return .estimated }
        if request.options.httpVersion == .http2 || request.url.lowercased().hasPrefix("https:") { return .estimated }
        return request.options.proxy == nil ? .exact : .acknowledgedByProxy
    }

    private func report(_ progress: TransferProgress, isAcknowledged: Bool) {
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

    // MARK: - The end

    /// Works out the end and tells the sink, once.
    ///
    /// - Parameters:
    ///   - code: What libcurl said, or `nil` when the engine ends the transfer itself.
    ///   - own: Why the engine ends it.
    /// - Returns: What the sink is to be told once the handle is out of libcurl's hands.
    func end(code: CURLcode?, own: TransferError.Code? = nil) -> TransferEnd {
        isRunning = false
        if let own, ownFailure == nil {
            ownFailure = (own, OutcomeTable.message(for: own, limits: request.options.limits), nil)
        }
        let (progress, isAcknowledged) = look()
        let sent = max(progress.sent, mostSent)
        let evidence = TransferEvidence(
            announced: request.body?.length, sent: sent, acknowledged: progress.acknowledged,
            requestAcknowledged: assembler.head != nil || (probe?.sample()?.acknowledged ?? 0) > 0,
            isBodyComplete: isHandedOver(sent), sawResponseHead: assembler.head != nil)
        let result = result(code: code, evidence: evidence, isAcknowledged: isAcknowledged)
        if case .success = result { report(progress, isAcknowledged: isAcknowledged) }
        closeBody()
        learnExpectation()
        return TransferEnd(result: result, evidence: evidence, metrics: metrics)
    }

    private func learnExpectation() {
        guard asksLeave, connection != nil, let engine else { return }
        let handedOver = feed?.handedOver ?? 0
        if wasRefusedLeave || assembler.head?.status.code == 417 {
            engine.expectations.learn(.refused, of: origin)
        } else if assembler.sawContinue || (assembler.head != nil && handedOver == 0) {
            engine.expectations.learn(.answered, of: origin)
        } else if handedOver > 0 {
            engine.expectations.learn(.ignored, of: origin)
        }
    }

    /// Tells the sink of the end and lets it go.
    func tell(_ end: TransferEnd) {
        let last = sink
        sink = nil
        last?.transfer(.ended(end))
    }

    private func result(
        code: CURLcode?, evidence: TransferEvidence, isAcknowledged: Bool
    ) -> Result<TransferResponse, TransferError> {
        if let own = ownFailure {
            return failure(own.code, own.message, evidence: evidence, curl: code, cause: own.cause)
        }
        guard code == CURLE_OK else {
            let meaning = OutcomeTable.meaning(
                of: code ?? CURLE_OK, isConnected: connection != nil, sawResponseHead: evidence.sawResponseHead)
            return failure(meaning.code, meaning.message, evidence: evidence, curl: code)
        }
        guard let head = assembler.head else {
            return failure(
                .responseIncomplete, "The server closed the connection within the head of its answer.",
                evidence: evidence,
                curl: code)
        }
        // A yes before the whole body was taken is not a yes to the whole body.
        if head.status.kind == .successful, feed != nil, !isAcknowledged {
            return failure(
                .bodyNotTaken, "The server answered \(head.status.code) before it had taken the whole body.",
                evidence: evidence, curl: code)
        }
        return .success(TransferResponse(head: head, body: assembler.body))
    }

    private func failure(
        _ code: TransferError.Code, _ message: String, evidence: TransferEvidence, curl: CURLcode?,
        cause: (any Error)? = nil
    ) -> Result<TransferResponse, TransferError> {
        let quoted = curl.flatMap { $0 == CURLE_OK ? nil : OutcomeTable.quote($0) }
        let detail = easy?.lastError ?? ""
        let isOwn = ownFailure != nil
        return .failure(
            TransferError(
                code, isOwn || detail.isEmpty ? message : "\(message) (\(detail))",
                outcome: OutcomeTable.outcome(of: evidence),
                transportCode: isOwn ? nil : quoted, status: assembler.head?.status, cause: cause))
    }

    private var metrics: TransferMetrics {
        var metrics = TransferMetrics()
        guard easy != nil else { return metrics }
        metrics.nameLookup = easy!.microseconds(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = easy!.microseconds(CURLINFO_CONNECT_TIME_T)
        metrics.tls = easy!.microseconds(CURLINFO_APPCONNECT_TIME_T)
        metrics.firstByte = easy!.microseconds(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = easy!.microseconds(CURLINFO_TOTAL_TIME_T)
        metrics.connection = connection
        return metrics
    }
}
