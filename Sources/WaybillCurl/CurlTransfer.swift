import HTTPTypes
import CWaybillCurl
import WaybillCore

/// An attempt that libcurl runs: HTTP/2, Digest, HTTP proxies without a tunnel, and custom libcurl options. Every other
/// attempt is an ``HTTP1Transfer``.
final class CurlTransfer: Transfer, @unchecked Sendable {
    private(set) var easy: EasyHandle?
    /// The address of the easy handle, which identifies the transfer in libcurl.
    private var address: UInt = 0
    private var headers = StringList()
    /// The headers of the request that asks for a challenge.
    private var challengeHeaders = StringList()
    private var resolve = StringList()
    private var lists: [StringListBox] = []
    private var assembler: ResponseAssembler
    /// The highest number of bytes handed to the kernel. libcurl resets its own count before a rewind.
    private var most: Int64 = 0
    var probe: SocketProbe?
    /// Whether the current request has no body and only asks for a Digest challenge, or was not challenged.
    private(set) var isFetchingChallenge = false
    private let sendsTLSRecords: Bool
    private var tlsCounter = TLSByteCounter()
    /// For a body of unknown length, libcurl also counts the framing of chunks: this many bytes, without the current
    /// one.
    private var framing: Int64 = 0
    /// Whether the head of the request must be sent before the body is read.
    private var delaysBody = false
    /// The time from the start to the last status line, which belongs to the final response. libcurl's own value stops
    /// at the first byte that is sent.
    private(set) var timeToResponse = Duration.zero
    /// Whether a response arrived over HTTP/2 before the whole body was sent. libcurl 8.4 and later then discard the
    /// rest of the body when the server ends the stream, and count it as sent.
    private(set) var receivedEarlyResponse = false

    override init(_ request: TransferRequest, sink: any TransferSink) {
        assembler = ResponseAssembler(limits: request.options.limits)
        sendsTLSRecords = request.sendsTLSRecords
        super.init(request, sink: sink)
    }

    override var key: UInt { address }

    /// Whether libcurl may use HTTP/2, where the kernel's counters do not belong to a single transfer.
    var mayUseHTTP2: Bool { request.options.httpVersion == .http2 }

    // MARK: - Start

    /// Creates the body's reader, configures a handle, and gives it to libcurl.
    override func begin(on engine: CurlEngine) throws(TransferError) {
        try super.begin(on: engine)
        origin = try engine.targetCache.check(request).origin
        guard let handle = engine.handles.take() else {
            throw TransferError(.other, "libcurl could not create a handle: out of memory.", outcome: .notSent)
        }
        try openBody { [inbox = engine.inbox, address = handle.address] in inbox.post(.readable(address)) }
        isFetchingChallenge = request.options.digest != nil
        expectsContinue = request.shouldExpectContinue && engine.expectContinueCache.mayExpectContinue(origin)
        headers = .headers(of: request, expectsContinue: expectsContinue)
        if isFetchingChallenge {
            challengeHeaders = .headers(of: request, expectsContinue: expectsContinue, isChallengeRequest: true)
        }
        resolve = .connectTo(request.options.resolve)
        do {
            try configure(handle, on: engine)
        } catch {
            closeBody()
            throw error
        }
        address = handle.address
        easy = handle
        hasBegun()
        if mayUseHTTP2 { engine.transfersOverHTTP2 += 1 }
    }

    private func configure(_ handle: EasyHandle, on engine: CurlEngine) throws(TransferError) {
        handle.reset()
        handle.configure(for: request, isAlone: engine.isIdle, headers: headers, resolve: resolve)
        if isFetchingChallenge { handle.set(CURLOPT_HTTPHEADER, challengeHeaders) }
        lists = try handle.set(request.options.curlOptions)
        handle.forbidReuseIfNeeded(request)
        handle.setCallbacks(transfer: self, engine: engine)
        try handle.checkOptions()
        let code = engine.inbox.multi.add(handle)
        guard code == CURLM_OK else {
            throw TransferError(
                .other, "libcurl rejected the transfer (CURLMcode \(code.rawValue)).", outcome: .notSent)
        }
    }

    /// Removes the transfer from libcurl. This closes the socket of an unfinished transfer.
    override func release(from engine: CurlEngine) {
        if mayUseHTTP2 { engine.transfersOverHTTP2 -= 1 }
        if let easy {
            engine.inbox.multi.remove(easy)
            if isReusable { engine.handles.put(easy) }
        }
        if let socket = probe?.socket { engine.sockets.forget(self, on: socket) }
        easy = nil
        super.release(from: engine)
    }

    /// Whether the handle may be used again: libcurl reported success.
    private var isReusable = false

    // MARK: - Called by libcurl

    /// Called when the request is about to be written.
    ///
    /// - Returns: Whether it may be. libcurl calls this a second time when it wants to send a request again.
    func connectionIsReady(_ endpoints: ConnectionEndpoints) -> Bool {
        guard connection == nil || canResend else {
            if !isChallengedAgain {
                engineFailure = Failure(.connectionLost, "The connection was lost before a response arrived.")
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
        // An HTTP/2 connection is shared, so the kernel's counters do not belong to this transfer.
        if !mayUseHTTP2 { probe = engine?.sockets.claim(endpoints, for: self) }
        // Any bytes that could be read now are not a response to this request.
        if isReused, probe?.hasInput == true {
            engineFailure = Failure(
                .connectionLost, "The server closed the connection, or sent a response without a request.")
            return false
        }
        (tlsCounter, framing) = (TLSByteCounter(), 0)
        connected(
            TransferConnection(
                isReused: isReused, peerAddress: request.options.unixSocket ?? endpoints.peerAddress,
                peerPort: Int(endpoints.peerPort)))
        if assembler.head?.status.code == 417 { expectationFailed = true }
        delaysBody = isReused && needsOwnSegments
        return true
    }

    /// Whether the server can't have acted on the bytes sent so far: it requested the same request without `Expect`
    /// (417) or with credentials (401), or no byte of the request's body was handed over.
    private var canResend: Bool {
        guard (feed?.bytesRead ?? 0) == 0, !isChallengedAgain else { return false }
        return feed != nil || assembler.head?.status.code == 417 || isFetchingChallenge && assembler.head != nil
    }

    /// Whether the server rejected the credentials sent in response to its challenge, for example because its nonce has
    /// expired. Only another attempt may repeat the request; otherwise it could repeat indefinitely.
    private var isChallengedAgain: Bool {
        request.options.digest != nil && !isFetchingChallenge && assembler.head?.status.code == 401
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFeed.ReadResult {
        guard feed != nil else { return .bytes(0) }
        // libcurl ignores a pause before the connection is established.
        guard !isPaused, !waitsForHead() else { return .pause }
        endDelay()
        guard let most = pacer.rate == nil ? buffer.count : pacedAllowance() else { return .pause }
        // All bytes handed over before have been sent, so any excess in libcurl's count is chunk framing.
        if feed!.length == nil { framing = max(framing, uploaded - feed!.bytesRead) }
        if sendsTLSRecords, let written = probe?.writtenAtMost {
            tlsCounter.align(body: uploaded - framing, writtenAtMost: written)
        }
        let result = unsafe feed!.fill(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(most)))
        if case .bytes(let count) = result { pacer.consume(count) }
        if result == .abort { bodyDidFail() }
        return result
    }

    /// Returns whether the body must not be read yet. True once for each request on a reused connection that
    /// ``needsOwnSegments``: libcurl writes the head when the read callback pauses.
    private func waitsForHead() -> Bool {
        guard delaysBody else { return false }
        delaysBody = false
        delayBody(until: .now)
        return true
    }

    /// Whether the body must wait until the head was sent, so that they are sent in two segments (decision 0003). A
    /// longer body fills several segments anyway, and a request that expects 100-continue waits in any case.
    private var needsOwnSegments: Bool {
        CurlLibrary.joinsHeadAndBody && probe != nil && !expectsContinue && (feed?.length ?? 0) <= 64 << 10
    }

    /// Returns whether libcurl may rewind the body to send it again, for example after the connection died. Allowed
    /// only if no byte of the body was handed over; the session decides about other repetitions.
    func allowsRewind(to offset: Int) -> Bool {
        most = max(most, feed?.bytesRead ?? 0)
        return offset == 0 && most == 0
    }

    func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            let line = unsafe Span<UInt8>(_unsafeBytes: bytes)
            // "HTTP/" starts a head; field names contain no slash.
            if line.count > 4, line[4] == UInt8(ascii: "/") {
                timeToResponse = .now - began
            }
            if try assembler.appendLine(line), let head = assembler.head, !isExpectationFailure(head),
                !isFetchingChallenge
            {
                if mayUseHTTP2, feed != nil, !isBodySent(uploaded) { receivedEarlyResponse = true }
                reportHead(head)
            }
            if !assembler.interimHeads.isEmpty { reportInterimHeads(assembler.takeInterimHeads()) }
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
        most = max(most, uploaded - framing)
        probe?.release()
    }

    /// Returns whether the head is a 417 to our `Expect`, after which libcurl repeats the request without it.
    private func isExpectationFailure(_ head: HTTPResponse) -> Bool {
        expectsContinue && !expectationFailed && head.status.code == 417
    }

    private func fail(_ failure: ResponseAssembler.Failure) {
        let (code, message) = CurlFailure.error(for: failure, limits: request.options.limits)
        engineFailure = Failure(code, message)
    }

    // MARK: - Control by the engine

    override func pauseDidChange() { applyPause() }

    override func continueBody() { applyPause() }

    private func applyPause() {
        unsafe curl_easy_pause(easy!.raw, isPaused ? CURLPAUSE_ALL : CURLPAUSE_CONT)
    }

    override var hasEarlyResponse: Bool { mayUseHTTP2 && assembler.head != nil }

    // MARK: - Progress

    override func measureProgress() -> (TransferProgress, isRequestAcknowledged: Bool) {
        guard connection != nil else { return super.measureProgress() }
        var sent = min(uploaded - framing, feed?.bytesRead ?? 0)
        // After everything was acknowledged, nothing changes; a check costs two system calls.
        if hasReportedAcknowledged, let last = lastSeen, last.sent == sent { return (last, true) }
        hasPendingBytes = false
        guard let sample = probe?.sample() else {
            return (TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated), isBodySent(sent))
        }
        sent = max(sent, min(tlsCounter.bytesSent(writtenAtLeast: sample.written), feed?.bytesRead ?? 0))
        return (progress(sent: sent, pending: sample.pending), isBodySent(sent) && sample.pending == 0)
    }

    /// The number of body bytes that libcurl has handed to the kernel.
    private var uploaded: Int64 { easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0 }

    // MARK: - End

    /// libcurl's result, if it has ended the transfer.
    private var completionCode: CURLcode?

    /// Called when libcurl has ended the transfer.
    func complete(_ code: CURLcode) {
        completionCode = code
        isReusable = code == CURLE_OK
    }

    override var received: ResponseAssembler { assembler }
    override var mostSent: Int64 { most }
    override var hasOwnCounters: Bool { probe != nil }
    override var isResponseEarly: Bool { receivedEarlyResponse }
    override var isWithoutBody: Bool { isFetchingChallenge }

    /// If the socket has no count of acknowledged bytes, written bytes count as acknowledged. Over HTTP/2, libcurl does
    /// not report when the head was sent, so it counts once the connection is ready.
    override func hasAcknowledgedBytes(sent: Int64) -> Bool {
        guard probe == nil else { return probe?.sample()?.acknowledged ?? 0 > 0 }
        return sent > 0 || mayUseHTTP2 && connection != nil
    }

    override var failure: Failure? {
        let code = completionCode
        if let engineFailure { return engineFailure }
        // libcurl wanted to repeat the request, although its response is final.
        if isChallengedAgain, code == CURLE_SEND_FAIL_REWIND || code == CURLE_ABORTED_BY_CALLBACK { return nil }
        if code == CURLE_OK || isCompleteDespiteReset(code) { return nil }
        return easy.map {
            CurlFailure.failure(
                code ?? CURLE_OK, of: $0, isConnected: connection != nil, sawResponseHead: assembler.head != nil)
        }
    }

    /// Returns whether the server sent a complete response over HTTP/2 and ended the stream before it had received the
    /// whole body (RFC 9113 section 8.1). libcurl 7.88 then fails to send the rest; it sets an error text only for a
    /// stream that did not end cleanly.
    private func isCompleteDespiteReset(_ code: CURLcode?) -> Bool {
        code == CURLE_HTTP2_STREAM && assembler.head != nil && easy?.lastError.isEmpty == true
    }

    override var metrics: TransferMetrics {
        guard let easy else { return TransferMetrics() }
        var metrics = TransferMetrics(connecting: easy)
        metrics.total = easy.microseconds(CURLINFO_TOTAL_TIME_T)
        metrics.firstByte = min(timeToResponse, metrics.total)
        metrics.connection = connection
        let body = CurlLibrary.countsBodyInRequestSize ? 0 : uploaded
        metrics.requestBytes = Int64(easy.long(CURLINFO_REQUEST_SIZE)) + body
        metrics.responseBytes = Int64(easy.long(CURLINFO_HEADER_SIZE)) + easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.connectionsMade = easy.long(CURLINFO_NUM_CONNECTS)
        metrics.httpVersion = EasyHandle.httpVersionName(easy.long(CURLINFO_HTTP_VERSION))
        return metrics
    }
}

extension TransferMetrics {
    /// The timings of a connection that libcurl has made.
    init(connecting easy: EasyHandle) {
        self.init()
        nameLookup = easy.microseconds(CURLINFO_NAMELOOKUP_TIME_T)
        connect = easy.microseconds(CURLINFO_CONNECT_TIME_T)
        tls = easy.microseconds(CURLINFO_APPCONNECT_TIME_T)
    }
}
