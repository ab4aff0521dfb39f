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
    private enum Output: Equatable {
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
    private var http: HTTP1Connection?
    private var connector: HTTP1Connector?
    private var connectMetrics: TransferMetrics?
    private var output = Output.notBegun
    private var buffer: OutputBuffer?
    private var parser: ResponseParser
    private var direct: DirectSend
    /// The number of body bytes that the kernel has accepted.
    private var bodySent: Int64 = 0
    private var requestBytes: Int64 = 0
    private var responseBytesBefore: Int64 = 0
    /// The connection's ``HTTP1Connection/written`` before this request.
    private var writtenBefore: Int64 = 0
    /// The probe of an encrypted connection.
    private var probe: SocketProbe?
    private var tlsCounter = TLSByteCounter()
    private var hasReportedHead = false
    private var timeToResponse = Duration.zero
    private var endedAt: ContinuousClock.Instant?
    /// The error that ended the output, which is reported only if no response arrived.
    private var outputError: String?
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
        writtenBefore = connection.written
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
        probe = connection.makeProbe()
        tlsCounter = TLSByteCounter()
        tlsCounter.align(body: Int64(-head.count), writtenAtMost: 0)
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

    // MARK: - Sending

    /// Sends the buffer, after filling it if it is empty.
    ///
    /// - Returns: Whether the transfer continues.
    private func sendBuffered(_ http: HTTP1Connection) -> Bool {
        guard http.isWritable else { return true }
        if output == .sending, buffer?.isEmpty == true, delayedUntil == nil {
            if sendFile(http) { return true }
            if http.isEncrypted, let written = probe?.writtenAtMost {
                tlsCounter.align(body: bodySent, writtenAtMost: written)
            }
            fillBuffer()
            if engineFailure != nil { return false }
        }
        while let buffer, !buffer.isEmpty, http.isWritable {
            let unsent = unsafe buffer.unsent
            switch unsafe http.send(unsent) {
            case .bytes(let count):
                didSend(buffer.removeFirst(count), total: count)
                if count < unsent.count { http.isWritable = false }
            case .wouldBlock: http.isWritable = false
            case .end: abandonOutput("The connection is closed.", http)
            case .failed(let detail): abandonOutput(detail, http)
            }
        }
        awaitContinue()
        guard output == .complete, buffer?.isEmpty == true else { return true }
        releaseBuffer()
        return !parser.isComplete
    }

    private func didSend(_ body: Int, total: Int) {
        bodySent += Int64(body)
        requestBytes += Int64(total)
    }

    /// The peer does not read any more. It may have responded before: what it sent is still in the socket.
    private func abandonOutput(_ detail: String, _ http: HTTP1Connection) {
        outputError = detail
        output = .abandoned
        http.isWritable = false
        http.isReadable = true
        http.isHangup = true
        releaseBuffer()
    }

    private func releaseBuffer() {
        if let buffer { engine?.buffers.put(buffer) }
        buffer = nil
    }

    /// Reads bytes of the body into the buffer, as many as are available and permitted.
    private func fillBuffer() {
        guard let buffer, feed != nil else { return }
        endDelay()
        while true {
            guard let allowed = pacer.rate == nil ? Int.max : pacedAllowance() else { return }
            let overhead = feed!.length == nil ? OutputBuffer.chunkOverhead : 0
            guard let room = readable(min(buffer.freeSpace - overhead, allowed)), room > 0 else { return }
            let result =
                feed!.length == nil
                ? unsafe buffer.appendChunk(atMost: room) { unsafe feed!.fill($0) }
                : unsafe buffer.appendBody(atMost: room) { unsafe feed!.fill($0) }
            switch result {
            case .bytes(0):
                endOutput()
                return
            case .bytes(let count):
                pacer.consume(count)
                if feed!.length == feed!.bytesRead { return endOutput() }
                if feed!.length == nil { return }
            case .pause: return
            case .abort:
                let failure = feed?.failure
                engineFailure = Failure(
                    .bodyFailed, "The body can't be read: \(failure.map { "\($0)" } ?? "")".sentence, cause: failure)
                return
            }
        }
    }

    /// The body was read to its end. The buffer may still hold bytes.
    private func endOutput() {
        if feed?.length == nil { buffer?.append(Array("0\r\n\r\n".utf8)) }
        if feed?.isAtEnd == true { output = .complete }
    }

    // MARK: - sendfile

    /// Sends bytes of a file directly from the page cache.
    ///
    /// - Returns: Whether nothing has to be read now.
    private func sendFile(_ http: HTTP1Connection) -> Bool {
        guard direct.isAllowed, pacer.rate == nil, let socket = http.plainSocket, let length = feed?.length else {
            return false
        }
        let room = DirectSend.sendableCount(bytesRead: feed!.bytesRead, of: length)
        guard room > 0, let count = feed!.send(upTo: room, into: socket) else { return false }
        if count > 0 {
            direct.recordSend(end: feed!.bytesRead)
            http.addWritten(count)
            didSend(count, total: count)
        }
        if count == 0 { http.isWritable = false }
        return true
    }

    /// Returns how many of the given number of bytes may be read now, or `nil` if the end of the body waits until the
    /// directly sent bytes are acknowledged.
    private func readable(_ most: Int) -> Int? {
        guard direct.unacknowledgedEnd != nil, let length = feed?.length else { return most }
        let room = direct.readable(bytesRead: feed!.bytesRead, of: length, upTo: most) {
            http?.pending.map { bodySent - Int64($0) }
        }
        guard room == 0 else { return room }
        delayBody(until: .now + direct.nextPollDelay())
        return nil
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
        let suffix = detail.isEmpty ? "" : " (\(detail))"
        guard !parser.isComplete else { return finish() }
        engineFailure =
            if parser.assembler.head != nil {
                Failure(.responseIncomplete, "The server closed the connection during the response.\(suffix)")
            } else if !parser.isUntouched {
                Failure(.responseIncomplete, "The server closed the connection within the response head.\(suffix)")
            } else if suffix.isEmpty {
                Failure(.connectionLost, "The server closed the connection without a response.")
            } else {
                Failure(.connectionLost, "The connection was lost before a response arrived.\(suffix)")
            }
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
    }

    // MARK: - Expect: 100-continue

    /// Schedules the body, which is sent even without a `100 Continue`.
    private func awaitContinue() {
        guard case .awaitingContinue(let until) = output, buffer?.isEmpty == true else { return }
        if until > .now { return delayBody(until: until) }
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
        releaseBuffer()
        let mayReuse = parser.allowsReuse
        responseBytesBefore += parser.byteCount
        parser = ResponseParser(limits: request.options.limits, isToHEAD: request.method == .head)
        http.isReused = true
        if mayReuse {
            output = .notBegun
            return engine.queue(self)
        }
        self.http = nil
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
        if hasReportedAcknowledged, let last = lastSeen, last.sent == bodySent { return (last, true) }
        hasPendingBytes = false
        if let pending = http?.pending {
            return (progress(sent: bodySent, pending: pending), isWhollySent(bodySent) && pending == 0)
        }
        guard let sample = probe?.sample() else {
            let progress = TransferProgress(sent: bodySent, acknowledged: bodySent, accuracy: .estimated)
            lastSeen = progress
            return (progress, isWhollySent(bodySent))
        }
        let sent = max(bodySent, min(tlsCounter.bytesSent(writtenAtLeast: sample.written), feed?.bytesRead ?? 0))
        return (progress(sent: sent, pending: sample.pending), isWhollySent(sent) && sample.pending == 0)
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
    override var hasOwnCounters: Bool { http?.plainSocket != nil || probe != nil }

    override func hasAcknowledgedBytes(sent: Int64) -> Bool {
        if let http, let pending = http.pending {
            return http.written - writtenBefore > Int64(clamping: pending)
        }
        if let sample = probe?.sample() { return sample.acknowledged > 0 }
        return requestBytes > 0
    }

    override var metrics: TransferMetrics {
        var metrics = connectMetrics ?? TransferMetrics()
        metrics.total = .now - began
        metrics.firstByte = timeToResponse
        metrics.connection = connection
        metrics.requestBytes = requestBytes
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
            let mayReuse = parser.allowsReuse && output == .complete && engineFailure == nil
            http.isReused = true
            if mayReuse { engine.keep(http) } else { engine.close(http) }
        }
        http = nil
        super.release(from: engine)
    }
}
