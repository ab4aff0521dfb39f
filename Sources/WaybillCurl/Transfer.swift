import HTTPTypes
import WaybillCore

/// One attempt on the engine's thread: what ``HTTP1Transfer`` and ``CurlTransfer`` have in common.
///
/// The caller creates it and passes it to the engine with the first command. From then on only the engine's thread
/// accesses its mutable state, which is why `@unchecked` is safe.
class Transfer: @unchecked Sendable {
    /// A reason for the failure of an attempt.
    struct Failure {
        var code: TransferError.Code
        var message: String
        var cause: (any Error)?
        /// libcurl's error code with its description.
        var transportCode: String?

        init(
            _ code: TransferError.Code, _ message: String, cause: (any Error)? = nil, transportCode: String? = nil
        ) {
            (self.code, self.message, self.cause, self.transportCode) = (code, message, cause, transportCode)
        }
    }

    final let request: TransferRequest
    private final var sink: (any TransferSink)?
    /// Set only while the engine runs the transfer. A weak reference would slow down all others.
    final var engine: CurlEngine?
    final private(set) var isRunning = false
    final var feed: BodyFeed?
    final var pacer: SendPacer
    /// The connection, once it is ready.
    final private(set) var connection: TransferConnection?
    /// Whether the caller paused the transfer.
    final private(set) var isPaused = false
    /// The time at which a body that waits for its rate limit or an acknowledgement may continue.
    final private(set) var delayedUntil: ContinuousClock.Instant?
    /// The engine's reason for ending the transfer.
    final var engineFailure: Failure?
    final private(set) var began = ContinuousClock.now
    /// The origin of the URL (RFC 9110 section 4.3.1): scheme, host, port.
    final var origin = ""
    final var expectsContinue = false
    /// Whether the request is sent again after a 417, without `Expect`.
    final var expectationFailed = false
    final private(set) var hasReportedAcknowledged = false
    /// Whether some written bytes were unacknowledged at the last check.
    final var hasPendingBytes = false
    /// The last measured progress.
    final var lastSeen: TransferProgress?
    private final var watch: TransferWatch
    private final var reported: TransferProgress?
    /// The engine's round in which libcurl last read from a tunnel, and the time at which that loop started.
    private final var tunnelLoop: (round: Int, began: ContinuousClock.Instant)?

    init(_ request: TransferRequest, sink: any TransferSink) {
        self.request = request
        self.sink = sink
        watch = TransferWatch(limits: request.options.limits, now: .now)
        pacer = SendPacer(rate: request.options.rateLimit)
    }

    // MARK: - Start and end

    /// The number by which the engine and wake-ups of a body identify the transfer.
    var key: UInt { unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

    /// Prepares the attempt. Subclasses check the request and create the body's reader here.
    func begin(on engine: CurlEngine) throws(TransferError) {
        self.engine = engine
    }

    /// Called when everything is prepared.
    final func hasBegun() {
        began = .now
        watch = TransferWatch(limits: request.options.limits, now: began)
        isRunning = true
    }

    final func openBody(wake: @escaping @Sendable () -> Void) throws(TransferError) {
        guard let body = request.body, body.length != 0 else { return }
        do {
            feed = try BodyFeed(body, wake: wake)
        } catch {
            throw TransferError(
                .bodyFailed, "The body can't be read: \(error)".sentence, outcome: .notSent, cause: error)
        }
    }

    final func closeBody() {
        feed?.close()
    }

    /// Determines the result and closes the body. The caller reports the result after it has released the connection.
    /// `reason` is the engine's reason for ending the transfer, or `nil` if it ended itself.
    final func end(because reason: TransferError.Code?) -> TransferEnd {
        isRunning = false
        if let reason, engineFailure == nil {
            engineFailure = Failure(reason, CurlFailure.message(for: reason, limits: request.options.limits))
        }
        let (progress, isAcknowledgedNow) = measureProgress()
        // TLS sends a close alert before the socket is closed, which is not yet acknowledged at the last check.
        let isAcknowledged = isAcknowledgedNow || hasReportedAcknowledged
        let sent = max(progress.sent, mostSent)
        let head = received.head
        let evidence = TransferCounters(
            announced: request.body?.length, sent: sent, acknowledged: progress.acknowledged,
            requestAcknowledged: head != nil || hasAcknowledgedBytes(sent: sent),
            isBodyComplete: isBodySent(sent), sawResponseHead: head != nil,
            isConnectionReused: connection?.isReused == true && hasOwnCounters)
        let result = result(evidence: evidence, isConfirmed: isAcknowledged && !isResponseEarly)
        if case .success(let response) = result {
            if isWithoutBody { reportHead(response.head) }
            report(progress, isAcknowledged: isAcknowledged)
        }
        closeBody()
        recordExpectContinue()
        return TransferEnd(result: result, evidence: evidence, metrics: metrics)
    }

    /// Returns the result. `isConfirmed` is whether the peer has acknowledged the whole body, and the response did not
    /// precede it.
    private func result(
        evidence: TransferCounters, isConfirmed: Bool
    ) -> Result<TransferResponse, TransferError> {
        var failure = failure
        if failure == nil, received.head == nil {
            failure = Failure(.responseIncomplete, CurlFailure.closedWithinHead)
        }
        // A success status before the whole body was received does not confirm the whole body.
        if failure == nil, let head = received.head, head.status.kind == .successful, feed != nil, !isConfirmed {
            failure = Failure(
                .bodyNotTaken, "The server responded with \(head.status.code) before it received the whole body.")
        }
        let status = received.head?.status
        guard let failure else { return .success(TransferResponse(head: received.head!, body: received.body)) }
        return .failure(
            TransferError(
                failure.code, failure.message, outcome: UploadOutcome(of: evidence, status: status),
                transportCode: failure.transportCode, status: status, cause: failure.cause))
    }

    private func recordExpectContinue() {
        guard expectsContinue, !isWithoutBody, connection != nil, let engine else { return }
        let hasReadBody = (feed?.bytesRead ?? 0) > 0
        if expectationFailed || received.head?.status.code == 417 {
            engine.expectContinueCache.record(.rejected, for: origin)
        } else if received.sawContinue || received.head != nil && !hasReadBody {
            engine.expectContinueCache.record(.supported, for: origin)
        } else if hasReadBody {
            engine.expectContinueCache.record(.ignored, for: origin)
        }
    }

    /// The received part of the response.
    var received: ResponseAssembler { ResponseAssembler(limits: request.options.limits) }
    /// The reason why the transfer did not end with a response.
    var failure: Failure? { engineFailure }
    /// The timings and byte counts of the ended transfer.
    var metrics: TransferMetrics { TransferMetrics() }
    /// The highest number of body bytes handed to the kernel, if it may be more than the measured progress.
    var mostSent: Int64 { 0 }
    /// Whether the kernel's counters of the connection cover this request only.
    var hasOwnCounters: Bool { false }
    /// Whether the peer has acknowledged any byte of the request, of whose body `sent` bytes were sent.
    func hasAcknowledgedBytes(sent: Int64) -> Bool { false }
    /// Whether a response arrived before the whole body was sent, so that acknowledged bytes do not confirm the body.
    var isResponseEarly: Bool { false }
    /// Whether the rest of the body is not sent, because the server has rejected the request. Only its response is
    /// awaited.
    var hasAbandonedBody: Bool { false }
    /// Whether the current request is complete without its body, as a request for a challenge is.
    var isWithoutBody: Bool { false }

    /// Releases the connection after the end.
    func release(from engine: CurlEngine) {
        self.engine = nil
    }

    /// Reports the end to the sink and releases the sink.
    final func reportEnd(_ end: TransferEnd) {
        let last = sink
        sink = nil
        last?.transfer(.ended(end))
    }

    // MARK: - Control by the engine

    /// Called when the body may continue: after a pause, a delay or a wait for bytes.
    func continueBody() {}

    /// Called after ``isPaused`` has changed.
    func pauseDidChange() {}

    final func setPaused(_ paused: Bool) {
        guard isRunning, isPaused != paused else { return }
        isPaused = paused
        pauseDidChange()
    }

    /// Called when the body has bytes again.
    final func bodyIsReadable() {
        guard isRunning, feed?.isWaiting == true else { return }
        // Recorded even if nothing can be sent now: the reader does not wake twice.
        feed?.wake()
        if !isPaused { continueBody() }
    }

    final func limit(to rate: ByteCount?) {
        guard isRunning else { return }
        pacer.limit(to: rate, now: .now)
        if delayedUntil != nil { resumeBody() }
    }

    /// Called when the body's reader has failed: the transfer fails.
    final func bodyDidFail() {
        guard let failure = feed?.failure else { return }
        engineFailure = Failure(.bodyFailed, "The body can't be read: \(failure)".sentence, cause: failure)
    }

    /// Continues a body that waits for its rate limit, if it is due.
    final func resumeIfDue(_ now: ContinuousClock.Instant) {
        if let due = delayedUntil, due <= now { resumeBody() }
    }

    private final func resumeBody() {
        delayedUntil = nil
        if isRunning, !isPaused { continueBody() }
    }

    final func delayBody(until due: ContinuousClock.Instant) {
        delayedUntil = due
        engine?.release(by: due)
    }

    final func endDelay() { delayedUntil = nil }

    /// Returns the number of bytes that the rate limit permits, or `nil` to ask again at ``delayedUntil``.
    final func pacedAllowance() -> Int? {
        let now = ContinuousClock.now
        let room = pacer.allowance(now: now)
        if room == 0 { delayBody(until: pacer.due(now: now)) }
        return room == 0 ? nil : room
    }

    /// Returns whether libcurl may continue to read the response to CONNECT. It reads in an inner loop as long as bytes
    /// are available and calls this for each. A proxy that never stops sending would otherwise block all other
    /// transfers, limits and cancellations of the engine.
    final func mayContinueReadingTunnel() -> Bool {
        guard connection == nil, let engine else { return true }
        let now = ContinuousClock.now
        guard let loop = tunnelLoop, loop.round == engine.round else {
            tunnelLoop = (engine.round, now)
            return true
        }
        guard now - loop.began > Self.maxTunnelLoop else { return true }
        engineFailure = Failure(.proxyFailed, "The proxy's response to CONNECT does not end. Check the proxy.")
        return false
    }

    /// Longer than reading any response to CONNECT that has already arrived.
    private static let maxTunnelLoop = Duration.milliseconds(500)

    // MARK: - Progress

    /// Returns the position in the body, and whether the peer has acknowledged the whole request.
    func measureProgress() -> (TransferProgress, isRequestAcknowledged: Bool) {
        (TransferProgress(sent: 0, acknowledged: 0, accuracy: accuracy), false)
    }

    /// Whether the final response arrived before the body was sent, so that the server is unlikely to read the rest.
    var hasEarlyResponse: Bool { false }
    /// Checks the timers and the socket, and reports progress.
    ///
    /// - Returns: The limit that expired, if any.
    final func tick(now: ContinuousClock.Instant) -> TransferError.Code? {
        let (progress, isAcknowledged) = measureProgress()
        report(progress, isAcknowledged: isAcknowledged)
        let snapshot = TransferWatch.TransferSnapshot(
            isConnected: connection != nil, isPaused: isPaused, bytesRead: feed?.bytesRead ?? 0, sent: progress.sent,
            acknowledged: progress.acknowledged, hasPendingBytes: hasPendingBytes,
            hasEarlyResponse: hasEarlyResponse,
            isRequestAcknowledged: isAcknowledged || isWithoutBody || hasAbandonedBody)
        return watch.check(snapshot, now: now)
    }

    /// The progress for a number of sent body bytes, of which the kernel holds `pending` bytes unacknowledged; it never
    /// decreases. Pending bytes of the head or of a record only make it more careful.
    final func progress(sent: Int64, pending: UInt64) -> TransferProgress {
        hasPendingBytes = pending > 0
        let acknowledged = max(reported?.acknowledged ?? 0, max(0, sent - Int64(clamping: pending)))
        let progress = TransferProgress(sent: sent, acknowledged: min(sent, acknowledged), accuracy: accuracy)
        lastSeen = progress
        return progress
    }

    func isBodySent(_ sent: Int64) -> Bool {
        guard let feed else { return connection != nil }
        return feed.length.map { sent >= $0 } ?? feed.isAtEnd
    }

    final var accuracy: ProgressAccuracy {
        if let feed, feed.length == nil { return .estimated }
        if request.options.httpVersion == .http2 || request.isOverTLS { return .estimated }
        return request.options.proxy == nil ? .exact : .acknowledgedByProxy
    }

    final var wantsProgress: Bool { sink?.wantsProgress == true }

    /// Sets the connection; reports the first one.
    final func connected(_ connection: TransferConnection) {
        let isFirst = self.connection == nil
        self.connection = connection
        if isFirst { sink?.transfer(.connected(connection)) }
    }

    final func report(_ progress: TransferProgress, isAcknowledged: Bool) {
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

    /// Reports heads with the status 104.
    final func reportInterimHeads(_ heads: [HTTPResponse]) {
        for head in heads { sink?.transfer(.interimHead(head)) }
    }

    /// Reports the response head, after the acknowledged bytes: a response to the whole body follows them.
    final func reportHead(_ head: HTTPResponse) {
        if !hasReportedAcknowledged {
            let (progress, isAcknowledged) = measureProgress()
            report(progress, isAcknowledged: isAcknowledged)
        }
        sink?.transfer(.responseHead(head))
    }
}
