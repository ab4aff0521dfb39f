import CWaybillCurl
import HTTPTypes
import WaybillCore

/// An attempt over HTTP/1.1 that exchanges the messages itself, on a connection made by libcurl.
///
/// libcurl resolves names, connects, negotiates TLS and tunnels through proxies (`CURLOPT_CONNECT_ONLY`). From then on
/// this type writes the request with as few system calls as possible, knows exactly what the kernel accepted, and
/// parses the response with ``ResponseParser``. It never repeats a byte, except a request without its body after a 417.
final class HTTP1Transfer: Transfer, @unchecked Sendable {
    /// The state of the request.
    enum Output: Equatable {
        /// Nothing was written.
        case notBegun
        /// The body may be read and sent.
        case sending
        /// Only the head was sent; the body waits for a `100 Continue`, or until the given time.
        case awaitingContinue(until: ContinuousClock.Instant)
        /// Everything was handed to the kernel.
        case complete
        /// The connection accepts no more bytes, or the server has rejected the request.
        case abandoned
    }

    private var target = URLParts(origin: "", hostField: "", path: "")
    var http: HTTP1Connection?
    private var connector: HTTP1Connector?
    private var connectMetrics: TransferMetrics?
    var output = Output.notBegun
    var buffer: OutputBuffer?
    var parser: ResponseParser
    var direct: DirectSend
    var counter = SentByteCounter()
    private var responseBytesBefore: Int64 = 0
    private var hasReportedHead = false
    private var timeToResponse = Duration.zero
    /// The error that ended the output, which is reported only if no response arrived.
    var outputError: String?
    /// Whether the engine has queued the transfer for its next round.
    var isQueued = false

    override init(_ request: TransferRequest, sink: any TransferSink) {
        parser = ResponseParser(limits: request.options.limits, isToHEAD: request.method == .head)
        direct = DirectSend(request)
        super.init(request, sink: sink)
    }

    // MARK: - Start

    override func begin(on engine: CurlEngine) throws(TransferError) {
        try super.begin(on: engine)
        target = try engine.targetCache.check(request)
        origin = target.origin
        try openBody { [inbox = engine.inbox, key] in inbox.post(.readable(key)) }
        if direct.isAllowed { feed?.allowSending() }
        expectsContinue = request.shouldExpectContinue && engine.expectContinueCache.mayExpectContinue(origin)
        do {
            try connect(engine)
        } catch {
            closeBody()
            throw error
        }
        hasBegun()
    }

    /// Takes an idle connection, or lets libcurl make a new one.
    private func connect(_ engine: CurlEngine) throws(TransferError) {
        let key = ConnectionKey(origin: origin, request.options)
        if let idle = engine.takeConnection(key) {
            attach(idle, to: engine)
        } else {
            connector = try HTTP1Connector(for: self, key: key, engine: engine)
        }
    }

    /// Called when libcurl has made the connection, or failed to.
    func connectorDidFinish(_ code: CURLcode) {
        guard let engine, let connector else { return }
        self.connector = nil
        switch connector.finish(code, engine: engine) {
        case .connected(let connection, let metrics):
            connectMetrics = metrics
            engine.connections.add(connection)
            attach(connection, to: engine)
        case .failed(let failure):
            engineFailure = engineFailure ?? failure
            engine.finish(self)
        }
    }

    private func attach(_ connection: HTTP1Connection, to engine: CurlEngine) {
        connection.transfer = self
        http = connection
        counter.attach(to: connection)
        var peer = connection.peer
        peer.isReused = connection.isReused
        connected(peer)
        engine.queue(self)
    }

    /// Called when the request can be written, not before: with many concurrent uploads, the bytes of one are sent before
    /// those of the next are read, through the same buffer.
    ///
    /// Writes the head into the buffer. A body of more than 64 KiB follows it in the same segment. A smaller one gets
    /// its own on a kept-alive connection, because a request of two segments is acknowledged when it is read (decision
    /// 0003).
    private func beginRequest(on connection: HTTP1Connection, engine: CurlEngine) {
        let head = RequestHead.bytes(
            of: request, target: target, expectsContinue: expectsContinue && !expectationFailed)
        let capacity = head.count + OutputBuffer.chunkOverhead + Self.bufferSize(for: request, isAlone: engine.runsOne)
        buffer = engine.buffers.take(capacity: capacity)
        buffer?.append(head)
        counter.begin(headSize: head.count)
        if feed == nil {
            output = .complete
        } else if expectsContinue, !expectationFailed {
            output = .awaitingContinue(until: .now + continueTimeout)
        } else {
            output = .sending
            let hasOwnSegment = connection.isReused && (feed?.length ?? 0) <= 64 << 10
            if !hasOwnSegment, !direct.isAllowed { fillBuffer() }
        }
    }

    private var continueTimeout: Duration {
        guard case .above(_, let wait) = request.options.expectContinue else { return .zero }
        return max(.milliseconds(1), min(wait, request.options.limits.stall))
    }

    /// The number of body bytes that are read at a time. A body of up to 120 KiB is sent in one piece.
    private static func bufferSize(for request: TransferRequest, isAlone: Bool) -> Int {
        let isShort = request.options.rateLimit == nil && (request.body?.length ?? .max) < 1 << 20
        return isShort ? 120 << 10 : EasyHandle.uploadBufferSize(for: request, isAlone: isAlone)
    }

    // MARK: - Work of a round

    /// Called when the socket became readable or writable.
    func socketIsReady(isReadable: Bool, isWritable: Bool, isHangup: Bool) {
        guard let http else { return }
        if isReadable || http.isEncrypted { http.isReadable = true }
        if isWritable || http.isEncrypted { http.isWritable = true }
        if isHangup { http.isHangup = true }
        engine?.queue(self)
    }

    override func pauseDidChange() { if !isPaused { engine?.queue(self) } }

    override func continueBody() { engine?.queue(self) }

    /// Sends and receives what is possible now, at most one buffer in each direction.
    func work() {
        isQueued = false
        guard isRunning, !isPaused, let http, let engine else { return }
        if output == .notBegun { beginRequest(on: http, engine: engine) }
        if engineFailure != nil || !sendBuffered(http) { return engine.finish(self) }
        if http.isReadable { receive(http) }
        guard isRunning, !isPaused, self.http === http else { return }
        if http.isReadable || http.isWritable && canSendMore { engine.queue(self) }
    }

    private var canSendMore: Bool {
        if buffer?.isEmpty == false { return true }
        return output == .sending && feed?.isWaiting == false && delayedUntil == nil
    }

    // MARK: - Receiving

    private func receive(_ http: HTTP1Connection) {
        guard let engine else { return }
        let input = unsafe engine.input
        switch unsafe http.receive(input) {
        case .bytes(let count):
            // After a short read the socket is empty, unless the peer has closed it or the bytes were encrypted.
            if count < input.count, !http.isEncrypted, !http.isHangup { http.isReadable = false }
            do {
                try unsafe parser.receive(UnsafeRawBufferPointer(rebasing: input[..<count]))
            } catch {
                let (code, message) = CurlFailure.error(for: error, limits: request.options.limits)
                engineFailure = Failure(code, message)
                engine.finish(self)
                return
            }
            didReceive(http)
        case .wouldBlock:
            http.isReadable = false
            if outputError != nil { lose("") }
        case .end:
            http.isReadable = false
            if parser.receiveEnd() { didReceive(http) } else { lose("") }
        case .failed(let detail): lose(detail)
        }
    }

    /// The connection ended without a complete response.
    private func lose(_ detail: String) {
        let detail = detail.isEmpty ? outputError ?? "" : detail
        guard !parser.isComplete else { return finish() }
        engineFailure = CurlFailure.lost(
            detail, sawHead: parser.assembler.head != nil, sawResponse: !parser.isUntouched)
        finish()
    }

    private func didReceive(_ http: HTTP1Connection) {
        if case .awaitingContinue = output, parser.assembler.sawContinue {
            output = .sending
            endDelay()
        }
        if let head = parser.assembler.head, !hasReportedHead { respond(head) }
        guard parser.isComplete else { return }
        if mayRepeatWithoutExpect { return repeatWithoutExpect(http) }
        // A body that is still being sent continues: the server may read it.
        if output == .complete && buffer == nil || output == .abandoned { finish() }
    }

    /// Called for the final head.
    private func respond(_ head: HTTPResponse) {
        timeToResponse = .now - began
        if mayRepeatWithoutExpect { return }
        hasReportedHead = true
        reportHead(head)
        // A server that rejects a request need not read it (RFC 9112 section 9.3).
        guard head.status.code >= 300, output != .complete || buffer != nil else { return }
        output = .abandoned
        endDelay()
        releaseBuffer()
        // The server closes the connection at the end of this response, perhaps only after it has read everything.
        if parser.endsWithConnection { http?.shutDownOutput() }
    }

    // MARK: - Expect: 100-continue

    /// Schedules the body, which is sent even without a `100 Continue`.
    func awaitContinue() {
        guard case .awaitingContinue(let until) = output, buffer?.isEmpty == true, !mayRepeatWithoutExpect else {
            return
        }
        if until > .now { return delayBody(until: until) }
        // The response may have arrived during a pause.
        if let http, http.isReadable { receive(http) }
        guard case .awaitingContinue = output, !mayRepeatWithoutExpect, isRunning else { return }
        output = .sending
        engine?.queue(self)
    }

    /// Whether the server rejected the expectation before any byte of the body was sent.
    private var mayRepeatWithoutExpect: Bool {
        guard expectsContinue, !expectationFailed, case .awaitingContinue = output else { return false }
        return parser.assembler.head?.status.code == 417
    }

    /// Sends the request again without the expectation, as RFC 9110 section 10.1.1 recommends.
    private func repeatWithoutExpect(_ http: HTTP1Connection) {
        guard let engine else { return }
        expectationFailed = true
        endDelay()
        let mayReuse = parser.allowsReuse && !http.isHangup && buffer?.isEmpty == true
        releaseBuffer()
        responseBytesBefore += parser.byteCount
        parser = ResponseParser(limits: request.options.limits, isToHEAD: request.method == .head)
        http.isReused = true
        if mayReuse {
            output = .notBegun
            counter.attach(to: http)
            return engine.queue(self)
        }
        self.http = nil
        counter.detach()
        output = .notBegun
        engine.close(http)
        do {
            try connect(engine)
        } catch {
            engineFailure = Failure(error.code, error.message, cause: error.cause)
            engine.finish(self)
        }
    }

    // MARK: - Progress

    override func measureProgress() -> (TransferProgress, isRequestAcknowledged: Bool) {
        guard connection != nil else { return super.measureProgress() }
        if hasReportedAcknowledged, let last = lastSeen, last.sent == counter.body { return (last, true) }
        hasPendingBytes = false
        guard let (sent, pending) = counter.sample(atMost: feed?.bytesRead ?? 0) else {
            let sent = counter.body
            let progress = TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated)
            lastSeen = progress
            return (progress, isWhollySent(sent))
        }
        return (progress(sent: sent, pending: pending), isWhollySent(sent) && pending == 0)
    }

    /// Whether the kernel has accepted the request, including the last chunk.
    private func isWhollySent(_ sent: Int64) -> Bool {
        isBodySent(sent) && (buffer?.isEmpty ?? true)
    }

    // MARK: - End

    private func finish() { engine?.finish(self) }

    /// The end of a chunked body is its last chunk.
    override func isBodySent(_ sent: Int64) -> Bool {
        guard super.isBodySent(sent) else { return false }
        return feed == nil || feed?.length != nil || output == .complete && buffer?.isEmpty ?? true
    }

    override var received: ResponseAssembler { parser.assembler }
    override var hasOwnCounters: Bool { counter.hasKernelCounters }
    override var hasAbandonedBody: Bool { output == .abandoned || mayRepeatWithoutExpect }

    override func hasAcknowledgedBytes(sent: Int64) -> Bool { counter.hasAcknowledgedBytes() }

    override var metrics: TransferMetrics {
        var metrics = connectMetrics ?? TransferMetrics()
        metrics.total = .now - began
        metrics.firstByte = timeToResponse
        metrics.connection = connection
        metrics.requestBytes = counter.all
        metrics.sendfileBytes = feed?.sentDirectly ?? 0
        metrics.responseBytes = responseBytesBefore + parser.byteCount
        metrics.connectionsMade = connectMetrics == nil ? 0 : 1
        metrics.httpVersion = parser.version
        return metrics
    }

    override func release(from engine: CurlEngine) {
        connector?.abandon(engine)
        connector = nil
        releaseBuffer()
        if let http {
            http.transfer = nil
            let mayReuse = parser.allowsReuse && output == .complete && engineFailure == nil && !http.isHangup
            http.isReused = true
            if mayReuse { engine.keep(http) } else { engine.close(http) }
        }
        http = nil
        counter.detach()
        super.release(from: engine)
    }
}
