import CWaybillCurl
import HTTPTypes
import WaybillCore

/// An attempt over HTTP/1.1 that exchanges the messages itself, on a connection made by libcurl.
///
/// libcurl resolves names, connects, negotiates TLS and tunnels through proxies (`CURLOPT_CONNECT_ONLY`). From then on
/// this type writes the request with as few system calls as possible, knows exactly what the kernel accepted, and
/// parses the response with ``ResponseParser``. It never repeats a byte, except a request without its body after a 417.
final class HTTP1Transfer: Transfer, @unchecked Sendable {
    private var target = URLParts(origin: "", hostField: "", path: "")
    private var http: HTTP1Connection?
    private var connector: HTTP1Connector?
    private var connectMetrics: TransferMetrics?
    private var writer: RequestWriter
    private var parser: ResponseParser
    private var responseBytesBefore: Int64 = 0
    private var hasReportedHead = false
    private var timeToResponse = Duration.zero
    /// Whether the engine has queued the transfer for its next round.
    var isQueued = false

    override init(_ request: TransferRequest, sink: any TransferSink) {
        parser = ResponseParser(limits: request.options.limits, isToHEAD: request.method == .head)
        writer = RequestWriter(request)
        super.init(request, sink: sink)
    }

    // MARK: - Start

    override func begin(on engine: CurlEngine) throws(TransferError) {
        try super.begin(on: engine)
        target = try engine.targetCache.check(request)
        origin = target.origin
        try openBody { [inbox = engine.inbox, key] in inbox.post(.readable(key)) }
        if writer.sendsFiles { feed?.allowSending() }
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
        writer.attach(to: connection)
        var peer = connection.peer
        peer.isReused = connection.isReused
        connected(peer)
        engine.queue(self)
    }

    /// Called when the request can be written, not before: with many concurrent uploads, the bytes of one are sent before
    /// those of the next are read, through the same buffer.
    private func beginRequest(on connection: HTTP1Connection) {
        let expects = expectsContinue && !expectationFailed
        let head = RequestHead.bytes(of: request, target: target, expectsContinue: expects)
        writer.begin(
            head, of: self, isReused: connection.isReused, waitsUntil: expects ? .now + continueTimeout : nil)
    }

    private var continueTimeout: Duration {
        guard case .above(_, let wait) = request.options.expectContinue else { return .zero }
        return max(.milliseconds(1), min(wait, request.options.limits.stall))
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
        if writer.state == .notBegun { beginRequest(on: http) }
        if engineFailure != nil || !write(http) { return engine.finish(self) }
        if http.isReadable { receive(http) }
        guard isRunning, !isPaused, self.http === http else { return }
        if http.isReadable || http.isWritable && writer.canContinue(self) { engine.queue(self) }
    }

    /// Sends what the connection accepts.
    ///
    /// - Returns: Whether the transfer continues.
    private func write(_ http: HTTP1Connection) -> Bool {
        guard http.isWritable else { return true }
        writer.write(to: http, of: self)
        if engineFailure != nil { return false }
        awaitContinue()
        return !(writer.isDone && parser.isComplete)
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
            if writer.error != nil { lose("") }
        case .end:
            http.isReadable = false
            if parser.receiveEnd() { didReceive(http) } else { lose("") }
        case .failed(let detail): lose(detail)
        }
    }

    /// The connection ended without a complete response.
    private func lose(_ detail: String) {
        let detail = detail.isEmpty ? writer.error ?? "" : detail
        guard !parser.isComplete else { return finish() }
        engineFailure = CurlFailure.lost(
            detail, sawHead: parser.assembler.head != nil, sawResponse: !parser.isUntouched)
        finish()
    }

    private func didReceive(_ http: HTTP1Connection) {
        if case .awaitingContinue = writer.state, parser.assembler.sawContinue {
            writer.endWait()
            endDelay()
        }
        if !parser.assembler.interimHeads.isEmpty { reportInterimHeads(parser.takeInterimHeads()) }
        if let head = parser.assembler.head, !hasReportedHead { respond(head) }
        guard parser.isComplete else { return }
        if mayRepeatWithoutExpect { return repeatWithoutExpect(http) }
        // A body that is still being sent continues: the server may read it.
        if writer.isDone || writer.state == .abandoned { finish() }
    }

    /// Called for the final head.
    private func respond(_ head: HTTPResponse) {
        timeToResponse = .now - began
        if mayRepeatWithoutExpect { return }
        hasReportedHead = true
        reportHead(head)
        // A server that rejects a request need not read it (RFC 9112 section 9.3).
        guard head.status.code >= 300, !writer.isDone else { return }
        writer.abandon(returningTo: engine)
        endDelay()
        // The server closes the connection at the end of this response, perhaps only after it has read everything.
        if parser.endsWithConnection { http?.shutDownOutput() }
    }

    // MARK: - Expect: 100-continue

    /// Schedules the body, which is sent even without a `100 Continue`.
    private func awaitContinue() {
        guard case .awaitingContinue(let until) = writer.state, writer.isBufferEmpty, !mayRepeatWithoutExpect else {
            return
        }
        if until > .now { return delayBody(until: until) }
        // The response may have arrived during a pause.
        if let http, http.isReadable { receive(http) }
        guard case .awaitingContinue = writer.state, !mayRepeatWithoutExpect, isRunning else { return }
        writer.endWait()
        engine?.queue(self)
    }

    /// Whether the server rejected the expectation before any byte of the body was sent.
    private var mayRepeatWithoutExpect: Bool {
        guard expectsContinue, !expectationFailed, case .awaitingContinue = writer.state else { return false }
        return parser.assembler.head?.status.code == 417
    }

    /// Sends the request again without the expectation, as RFC 9110 section 10.1.1 recommends.
    private func repeatWithoutExpect(_ http: HTTP1Connection) {
        guard let engine else { return }
        expectationFailed = true
        endDelay()
        let mayReuse = parser.allowsReuse && !http.isHangup && writer.isBufferEmpty
        writer.releaseBuffer(to: engine)
        responseBytesBefore += parser.byteCount
        parser = ResponseParser(limits: request.options.limits, isToHEAD: request.method == .head)
        http.isReused = true
        if mayReuse {
            writer.attach(to: http)
            return engine.queue(self)
        }
        self.http = nil
        writer.detach()
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
        if hasReportedAcknowledged, let last = lastSeen, last.sent == writer.counter.body { return (last, true) }
        hasPendingBytes = false
        guard let (sent, pending) = writer.sample(atMost: feed?.bytesRead ?? 0) else {
            let sent = writer.counter.body
            let progress = TransferProgress(sent: sent, acknowledged: sent, accuracy: .estimated)
            lastSeen = progress
            return (progress, isWhollySent(sent))
        }
        return (progress(sent: sent, pending: pending), isWhollySent(sent) && pending == 0)
    }

    /// Whether the kernel has accepted the request, including the last chunk.
    private func isWhollySent(_ sent: Int64) -> Bool {
        isBodySent(sent) && writer.isBufferEmpty
    }

    // MARK: - End

    private func finish() { engine?.finish(self) }

    /// The end of a chunked body is its last chunk.
    override func isBodySent(_ sent: Int64) -> Bool {
        guard super.isBodySent(sent) else { return false }
        return feed == nil || feed?.length != nil || writer.isDone
    }

    override var received: ResponseAssembler { parser.assembler }
    override var hasOwnCounters: Bool { writer.counter.hasKernelCounters }
    override var hasAbandonedBody: Bool { writer.state == .abandoned || mayRepeatWithoutExpect }

    override func hasAcknowledgedBytes(sent: Int64) -> Bool { writer.hasAcknowledgedBytes() }

    override var metrics: TransferMetrics {
        var metrics = connectMetrics ?? TransferMetrics()
        metrics.total = .now - began
        metrics.firstByte = timeToResponse
        metrics.connection = connection
        metrics.requestBytes = writer.counter.all
        metrics.sendfileBytes = feed?.sentDirectly ?? 0
        metrics.responseBytes = responseBytesBefore + parser.byteCount
        metrics.connectionsMade = connectMetrics == nil ? 0 : 1
        metrics.httpVersion = parser.version
        return metrics
    }

    override func release(from engine: CurlEngine) {
        connector?.abandon(engine)
        connector = nil
        writer.releaseBuffer(to: engine)
        if let http {
            http.transfer = nil
            let mayReuse = parser.allowsReuse && writer.state == .complete && engineFailure == nil && !http.isHangup
            http.isReused = true
            if mayReuse { engine.keep(http) } else { engine.close(http) }
        }
        http = nil
        writer.detach()
        super.release(from: engine)
    }
}
