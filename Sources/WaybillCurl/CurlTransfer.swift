import HTTPTypes
import CWaybillCurl
import WaybillCore

/// One attempt on the engine's thread: the context of libcurl's callbacks.
///
/// The caller creates it and passes it to the engine with the first command. From then on only the engine's thread
/// accesses its mutable state, which is why `@unchecked` is safe.
final class CurlTransfer: @unchecked Sendable {
    let request: TransferRequest
    var sink: (any TransferSink)?

    private(set) var easy: EasyHandle?
    /// The address of the easy handle, which identifies the transfer in libcurl.
    private(set) var address: UInt = 0
    var isRunning = false
    private var headers = StringList()
    /// The headers of the request that asks for a challenge.
    private var challengeHeaders = StringList()
    private var resolve = StringList()
    private var lists: [StringListBox] = []
    /// Set only while the engine runs the transfer. A weak reference would slow down all others.
    var engine: CurlEngine?

    var feed: BodyFeed?
    private(set) var assembler: ResponseAssembler
    private var watch: TransferWatch
    var probe: SocketProbe?
    private(set) var connection: TransferConnection?
    private(set) var origin = ""
    private(set) var expectsContinue = false
    /// Whether the current request has no body and only asks for a Digest challenge, or was not challenged.
    private(set) var isFetchingChallenge = false
    /// Whether the request is sent again after a 417, without `Expect`.
    private(set) var expectationFailed = false
    /// Whether the caller paused the transfer.
    private var isPaused = false
    private var pacer: SendPacer
    var direct: DirectSend
    private let sendsTLSRecords: Bool
    private var tlsCounter = TLSByteCounter()
    /// For a body of unknown length, libcurl also counts the framing of chunks: this many bytes, without the current
    /// one.
    private var framing: Int64 = 0
    /// The time at which a body that waits for its rate limit or an acknowledgement may continue.
    private(set) var delayedUntil: ContinuousClock.Instant?
    /// Whether the head of the request must be sent before the body is read.
    var delaysBody = false
    /// The engine's reason for ending the transfer, which libcurl reports as an aborted callback.
    var engineFailure: (code: TransferError.Code, message: String, cause: (any Error)?)?
    private var began = ContinuousClock.now
    /// The time from the start to the last status line, which belongs to the final response. libcurl's own value stops
    /// at the first byte that is sent.
    private(set) var timeToResponse = Duration.zero
    private var reported: TransferProgress?
    private var lastSeen: TransferProgress?
    /// The engine's round in which libcurl last read from a tunnel, and the time at which that loop started.
    var tunnelLoop: (round: Int, began: ContinuousClock.Instant)?
    /// Whether some written bytes were unacknowledged at the last check.
    private var hasPendingBytes = false
    private(set) var hasReportedAcknowledged = false
    /// Whether a response arrived over HTTP/2 before the whole body was sent. libcurl 8.4 and later then discard the
    /// rest of the body when the server ends the stream, and count it as sent.
    var receivedEarlyResponse = false
    /// The highest number of bytes handed to the kernel. libcurl resets its own count before a rewind.
    private(set) var mostSent: Int64 = 0

    init(_ request: TransferRequest, sink: any TransferSink) {
        self.request = request
        self.sink = sink
        assembler = ResponseAssembler(limits: request.options.limits)
        watch = TransferWatch(limits: request.options.limits, now: .now)
        pacer = SendPacer(rate: request.options.rateLimit)
        direct = DirectSend(request)
        sendsTLSRecords = request.sendsTLSRecords
    }

    // MARK: - Start

    /// Creates the body's reader and configures a handle.
    func begin(on engine: CurlEngine, handle: EasyHandle, wake: @escaping @Sendable () -> Void) throws(TransferError) {
        self.engine = engine
        origin = try engine.originCache.check(request)
        if let body = request.body, body.length != 0 {
            do {
                feed = try BodyFeed(body, wake: wake)
            } catch {
                throw TransferError(
                    .bodyFailed, "The body can't be read: \(error)".sentence, outcome: .notSent, cause: error)
            }
        }
        if direct.isAllowed { feed?.allowSending() }
        isFetchingChallenge = request.options.digest != nil
        expectsContinue = request.shouldExpectContinue && engine.expectContinueCache.mayExpectContinue(origin)
        headers = .headers(of: request, expectsContinue: expectsContinue)
        if isFetchingChallenge {
            challengeHeaders = .headers(of: request, expectsContinue: expectsContinue, isChallengeRequest: true)
        }
        resolve = .connectTo(request.options.resolve)
        handle.reset()
        handle.configure(for: request, isAlone: engine.isIdle, headers: headers, resolve: resolve)
        if isFetchingChallenge { handle.set(CURLOPT_HTTPHEADER, challengeHeaders) }
        do {
            lists = try handle.set(request.options.curlOptions)
            handle.forbidReuseIfNeeded(request)
        } catch {
            closeBody()
            throw error
        }
        handle.setCallbacks(transfer: self, engine: engine)
        if let (option, code) = handle.rejectedOption {
            closeBody()
            throw TransferError(
                .invalidRequest, "libcurl rejected option \(option.rawValue): \(CurlFailure.quote(code)).",
                outcome: .notSent)
        }
        address = handle.address
        easy = handle
        began = .now
        watch = TransferWatch(limits: request.options.limits, now: began)
        isRunning = true
    }

    func add(to multi: borrowing MultiHandle) -> CURLMcode {
        multi.add(easy!)
    }

    /// Removes the transfer from libcurl. This closes the socket of an unfinished transfer.
    func remove(from multi: borrowing MultiHandle) -> EasyHandle? {
        if let easy { multi.remove(easy) }
        if let socket = probe?.socket { engine?.sockets.forget(self, on: socket) }
        defer { (easy, engine) = (nil, nil) }
        return easy
    }

    func closeBody() {
        feed?.close()
    }

    // MARK: - Called by libcurl

    /// Called when the request is about to be written.
    ///
    /// - Returns: Whether it may be. libcurl calls this a second time when it wants to send a request again.
    func connectionIsReady(_ endpoints: ConnectionEndpoints) -> Bool {
        guard connection == nil || canResend else {
            if !isResponseFinal {
                engineFailure = (.connectionLost, "The connection was lost before a response arrived.", nil)
            }
            return false
        }
        if isFetchingChallenge, assembler.head != nil {
            isFetchingChallenge = false
            assembler.reset()
            // libcurl writes the request after this callback returns.
            easy!.set(CURLOPT_HTTPHEADER, headers)
        }
        assembler.requestWillBegin()
        let isReused = easy!.long(CURLINFO_NUM_CONNECTS) == 0
        let connection = TransferConnection(
            isReused: isReused, peerAddress: request.options.unixSocket ?? endpoints.peerAddress,
            peerPort: Int(endpoints.peerPort))
        let isFirst = self.connection == nil
        self.connection = connection
        // An HTTP/2 connection is shared, so the kernel's counters do not belong to this transfer.
        if !mayUseHTTP2 { probe = engine?.sockets.claim(endpoints, for: self) }
        // Any bytes that could be read now are not a response to this request.
        if isReused, probe?.hasInput == true {
            engineFailure = (
                .connectionLost, "The server closed the connection, or sent a response without a request.", nil
            )
            return false
        }
        (tlsCounter, framing) = (TLSByteCounter(), 0)
        if isFirst { sink?.transfer(.connected(connection)) }
        if assembler.head?.status.code == 417 { expectationFailed = true }
        corkHead()
        delaysBody = isReused && needsOwnSegments
        return true
    }

    /// Holds back the head of the request until the first bytes of the body follow immediately, since libcurl writes
    /// the head separately. This saves a packet and a wake-up of the peer.
    ///
    /// Not used if both would fit into one segment, whose maximum size is just under 64 KiB: the acknowledgement of a
    /// request that is read and then reset depends on two segments (decision 0003).
    private func corkHead() {
        guard let length = request.body?.length, length > 64 << 10 else { return }
        guard !expectsContinue, !isFetchingChallenge else { return }
        setCorked()
    }

    /// Makes the kernel hold back partial segments until libcurl's round is over.
    private func setCorked() {
        guard probe != nil, let engine else { return }
        probe!.setCorked(true)
        engine.corked.append(self)
    }

    /// Whether the server can't have acted on the bytes sent so far: it requested the same request without `Expect`
    /// (417) or with credentials (401), or no byte of the request's body was handed over.
    private var canResend: Bool {
        guard (feed?.bytesRead ?? 0) == 0, !isChallengedAgain else { return false }
        return feed != nil || assembler.head?.status.code == 417 || isFetchingChallenge && assembler.head != nil
    }

    /// Whether the server rejected the credentials sent in response to its challenge, for example because its nonce has
    /// expired. Only another attempt may repeat the request; otherwise it could repeat indefinitely.
    var isChallengedAgain: Bool {
        request.options.digest != nil && !isFetchingChallenge && assembler.head?.status.code == 401
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFeed.ReadResult {
        guard feed != nil else { return .bytes(0) }
        // libcurl ignores a pause before the connection is established.
        guard !isPaused, !waitsForHead() else { return .pause }
        delayedUntil = nil
        let most = pacer.rate == nil ? sendDirectly(buffer.count) : pacedAllowance()
        guard let most, let room = readable(most) else { return .pause }
        // All bytes handed over before have been sent, so any excess in libcurl's count is chunk framing.
        if feed!.length == nil { framing = max(framing, uploaded - feed!.bytesRead) }
        if sendsTLSRecords, let written = probe?.writtenAtMost {
            tlsCounter.align(body: uploaded - framing, writtenAtMost: written)
        }
        let answer = unsafe feed!.fill(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room)))
        if case .bytes(let count) = answer {
            pacer.consume(count)
            if sendsTLSRecords, count > TLSByteCounter.maxRecordSize { setCorked() }
        }
        if answer == .abort, let failure = feed?.failure {
            engineFailure = (.bodyFailed, "The body can't be read: \(failure)".sentence, failure)
        }
        return answer
    }

    /// Returns the number of bytes that the rate limit permits, or `nil` to ask again at ``delayedUntil``.
    private func pacedAllowance() -> Int? {
        let now = ContinuousClock.now
        let room = pacer.allowance(now: now)
        if room == 0 { delayBody(until: pacer.due(now: now)) }
        return room == 0 ? nil : room
    }

    func delayBody(until due: ContinuousClock.Instant) {
        delayedUntil = due
        engine?.release(by: due)
    }

    /// Returns whether libcurl may rewind the body to send it again, for example after the connection died. Allowed
    /// only if no byte of the body was handed over; the session decides about other repetitions.
    func allowsRewind(to offset: Int) -> Bool {
        mostSent = max(mostSent, feed?.bytesRead ?? 0)
        return offset == 0 && mostSent == 0
    }

    func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            let line = unsafe Span<UInt8>(_unsafeBytes: bytes)
            // "HTTP/" starts a head; field names contain no slash.
            if line.count > 4, line[4] == UInt8(ascii: "/") {
                timeToResponse = .now - began
                responseDidBegin()
            }
            if try assembler.appendLine(line), let head = assembler.head, !isExpectationFailure(head),
                !isFetchingChallenge
            {
                reportHead(head)
            }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    func receiveResponseBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            try unsafe assembler.appendBody(bytes)
            return true
        } catch {
            fail(error)
            return false
        }
    }

    func socketWillClose() {
        mostSent = max(mostSent, uploaded - framing)
        probe?.release()
    }

    /// Returns whether the head is a 417 to our `Expect`, after which libcurl repeats the request without it.
    private func isExpectationFailure(_ head: HTTPResponse) -> Bool {
        expectsContinue && !expectationFailed && head.status.code == 417
    }

    private func fail(_ failure: ResponseAssembler.Failure) {
        let (code, message) = CurlFailure.error(for: failure, limits: request.options.limits)
        engineFailure = (code, message, nil)
    }

    // MARK: - Control by the engine

    /// Checks the timers and the socket, and reports progress.
    ///
    /// - Returns: The limit that expired, if any.
    func tick(now: ContinuousClock.Instant) -> TransferError.Code? {
        let (progress, isAcknowledged) = measureProgress()
        report(progress, isAcknowledged: isAcknowledged)
        let snapshot = TransferWatch.TransferSnapshot(
            isConnected: connection != nil, isPaused: isPaused, bytesRead: feed?.bytesRead ?? 0, sent: progress.sent,
            acknowledged: progress.acknowledged, hasPendingBytes: hasPendingBytes,
            hasEarlyResponse: mayUseHTTP2 && assembler.head != nil,
            isRequestAcknowledged: isAcknowledged || isFetchingChallenge)
        return watch.check(snapshot, now: now)
    }

    func setPaused(_ paused: Bool) {
        guard isRunning, isPaused != paused else { return }
        isPaused = paused
        applyPause()
    }

    /// Called when the body has bytes again.
    func bodyIsReadable() {
        guard isRunning, feed?.isWaiting == true, !isPaused else { return }
        applyPause()
    }

    func limit(to rate: ByteCount?) {
        guard isRunning else { return }
        pacer.limit(to: rate, now: .now)
        if delayedUntil != nil { resumeBody() }
    }

    /// Continues a body that waits for its rate limit, if it is due.
    func resumeIfDue(_ now: ContinuousClock.Instant) {
        if let due = delayedUntil, due <= now { resumeBody() }
    }

    private func resumeBody() {
        delayedUntil = nil
        if isRunning, !isPaused { applyPause() }
    }

    private func applyPause() {
        unsafe curl_easy_pause(easy!.raw, isPaused ? CURLPAUSE_ALL : CURLPAUSE_CONT)
    }

    // MARK: - Snapshots

    /// Returns the position in the body, and whether the peer has acknowledged the whole request.
    func measureProgress() -> (TransferProgress, isRequestAcknowledged: Bool) {
        guard connection != nil else { return (TransferProgress(sent: 0, acknowledged: 0, accuracy: accuracy), false) }
        var sent = min(uploaded - framing, feed?.bytesRead ?? 0)
        // After everything was acknowledged, nothing changes; a check costs two system calls.
        if hasReportedAcknowledged, let last = lastSeen, last.sent == sent { return (last, true) }
        hasPendingBytes = false
        guard let sample = probe?.sample() else {
            return (TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated), isBodySent(sent))
        }
        sent = max(sent, min(tlsCounter.bytesSent(writtenAtLeast: sample.written), feed?.bytesRead ?? 0))
        let pending = Int64(sample.pending)
        hasPendingBytes = pending > 0
        let acknowledged = max(reported?.acknowledged ?? 0, max(0, sent - pending))
        let progress = TransferProgress(sent: sent, acknowledged: min(sent, acknowledged), accuracy: accuracy)
        lastSeen = progress
        return (progress, isBodySent(sent) && pending == 0)
    }

    /// The number of body bytes handed to the kernel, by libcurl or directly.
    var uploaded: Int64 {
        (easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0) + (feed?.sentDirectly ?? 0)
    }

    func isBodySent(_ sent: Int64) -> Bool {
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
