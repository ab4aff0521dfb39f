import WaybillCore

/// Writes the request of an ``HTTP1Transfer`` to its connection: the head, the body, and the framing of chunks.
struct RequestWriter {
    /// The state of the request.
    enum State: Equatable {
        /// Nothing was written.
        case notBegun
        /// The body may be read and sent.
        case sending
        /// Only the head was sent; the body waits for a `100 Continue`, or until the given time.
        case awaitingContinue(until: ContinuousClock.Instant)
        /// The body was read to its end. The last bytes may still be in the buffer.
        case complete
        /// The connection accepts no more bytes, or the server has rejected the request.
        case abandoned
    }

    private(set) var state = State.notBegun
    /// The error of the connection that ended the request.
    private(set) var error: String?
    private(set) var counter = SentByteCounter()
    private var buffer: OutputBuffer?
    private var direct: DirectSend
    /// Whether encrypted records are sent in full segments, which takes less time of the processor. A short body that is
    /// sent alone is sent record by record, so that the peer can decrypt one while the next is encrypted.
    private var fillsSegments = true

    init(_ request: TransferRequest) {
        direct = DirectSend(request)
    }

    /// Whether the body may be sent from a file without reading it.
    var sendsFiles: Bool { direct.isAllowed }

    /// Whether the connection has accepted everything that was read.
    var isBufferEmpty: Bool { buffer?.isEmpty ?? true }

    /// Whether the connection has accepted the whole request.
    var isDone: Bool { state == .complete && isBufferEmpty }

    /// Whether bytes can be sent as soon as the connection accepts them.
    func canContinue(_ transfer: Transfer) -> Bool {
        !isBufferEmpty || state == .sending && transfer.feed?.isWaiting == false && transfer.delayedUntil == nil
    }

    // MARK: - State

    /// Starts to count on a connection, on which nothing of the request was written.
    mutating func attach(to connection: HTTP1Connection) {
        state = .notBegun
        counter.attach(to: connection)
    }

    /// Stops to count: the connection will be closed, or used by another request.
    mutating func detach() { counter.detach() }

    /// Writes the head into a buffer.
    ///
    /// A body of more than 64 KiB follows it in the same segment. A smaller one gets its own on a kept-alive connection,
    /// because a request of two segments is acknowledged when it is read (decision 0003).
    ///
    /// - Parameters:
    ///   - head: The request line and the fields.
    ///   - transfer: The transfer whose body follows.
    ///   - isReused: Whether the connection has carried a request before.
    ///   - waitsUntil: The time until which the body waits for a `100 Continue`, or `nil` if it does not wait.
    mutating func begin(
        _ head: [UInt8], of transfer: Transfer, isReused: Bool, waitsUntil: ContinuousClock.Instant?
    ) {
        guard let engine = transfer.engine else { return }
        let isAlone = engine.runsOne
        fillsSegments = !isAlone || !Self.isShort(transfer.request)
        let bodyCapacity = Self.bufferSize(for: transfer.request, isAlone: isAlone)
        buffer = engine.buffers.take(capacity: head.count + OutputBuffer.chunkOverhead + bodyCapacity)
        buffer?.append(head)
        counter.begin(headSize: head.count)
        guard let feed = transfer.feed else {
            state = .complete
            return
        }
        if let waitsUntil {
            state = .awaitingContinue(until: waitsUntil)
            return
        }
        state = .sending
        let hasOwnSegment = isReused && (feed.length ?? 0) <= 64 << 10
        if !hasOwnSegment, !sendsFiles { fillBuffer(from: transfer) }
    }

    /// The number of body bytes that are read at a time. A body of up to 120 KiB is sent in one piece.
    private static func bufferSize(for request: TransferRequest, isAlone: Bool) -> Int {
        isShort(request) ? 120 << 10 : EasyHandle.uploadBufferSize(for: request, isAlone: isAlone)
    }

    private static func isShort(_ request: TransferRequest) -> Bool {
        request.options.rateLimit == nil && (request.body?.length ?? .max) < 1 << 20
    }

    /// The wait for a `100 Continue` is over: the body may be sent.
    mutating func endWait() {
        if case .awaitingContinue = state { state = .sending }
    }

    /// The server has rejected the request: the rest is not sent.
    mutating func abandon(returningTo engine: CurlEngine?) {
        state = .abandoned
        releaseBuffer(to: engine)
    }

    mutating func releaseBuffer(to engine: CurlEngine?) {
        if let buffer { engine?.buffers.put(buffer) }
        buffer = nil
    }

    // MARK: - Counters

    /// See ``SentByteCounter/sample(atMost:)``.
    mutating func sample(atMost most: Int64) -> (sent: Int64, pending: UInt64)? { counter.sample(atMost: most) }

    /// See ``SentByteCounter/hasAcknowledgedBytes()``.
    mutating func hasAcknowledgedBytes() -> Bool { counter.hasAcknowledgedBytes() }

    // MARK: - Writing

    /// Sends the buffer, after filling it if it is empty. A body that can't be read sets the transfer's failure.
    mutating func write(to connection: HTTP1Connection, of transfer: Transfer) {
        if state == .sending, isBufferEmpty, transfer.delayedUntil == nil {
            if sendFile(of: transfer, to: connection) { return }
            counter.align()
            fillBuffer(from: transfer)
            if transfer.engineFailure != nil { return }
        }
        while let buffer, !buffer.isEmpty, connection.isWritable {
            let unsent = unsafe buffer.unsent
            switch unsafe connection.send(unsent, fillsSegments: fillsSegments) {
            case .bytes(let count):
                counter.add(body: buffer.removeFirst(count), total: count)
                if count < unsent.count { connection.isWritable = false }
            case .wouldBlock: connection.isWritable = false
            case .end: fail("The connection is closed.", connection, transfer)
            case .failed(let detail): fail(detail, connection, transfer)
            }
        }
        if isDone { releaseBuffer(to: transfer.engine) }
    }

    /// The peer does not read any more. It may have responded before: what it sent is still in the socket.
    private mutating func fail(_ detail: String, _ connection: HTTP1Connection, _ transfer: Transfer) {
        error = detail
        connection.isWritable = false
        connection.isReadable = true
        connection.isHangup = true
        abandon(returningTo: transfer.engine)
    }

    /// Reads bytes of the body into the buffer, as many as are available and permitted.
    private mutating func fillBuffer(from transfer: Transfer) {
        guard let buffer, let length = transfer.feed.map(\.length) else { return }
        transfer.endDelay()
        while true {
            guard let allowed = transfer.pacer.rate == nil ? Int.max : transfer.pacedAllowance() else { return }
            let overhead = length == nil ? OutputBuffer.chunkOverhead : 0
            guard let room = readable(min(buffer.freeSpace - overhead, allowed), of: transfer), room > 0 else { return }
            let result =
                length == nil
                ? unsafe buffer.appendChunk(atMost: room) { unsafe transfer.feed!.fill($0) }
                : unsafe buffer.appendBody(atMost: room) { unsafe transfer.feed!.fill($0) }
            switch result {
            case .bytes(0): return endBody(of: transfer)
            case .bytes(let count):
                transfer.pacer.consume(count)
                if length == transfer.feed!.bytesRead { return endBody(of: transfer) }
                if length == nil { return }
            case .pause: return
            case .abort: return transfer.bodyDidFail()
            }
        }
    }

    /// The body was read to its end.
    private mutating func endBody(of transfer: Transfer) {
        if transfer.feed?.length == nil { buffer?.append(Array("0\r\n\r\n".utf8)) }
        if transfer.feed?.isAtEnd == true { state = .complete }
    }

    // MARK: - sendfile

    /// Sends bytes of a file directly from the page cache.
    ///
    /// - Returns: Whether nothing has to be read now.
    private mutating func sendFile(of transfer: Transfer, to connection: HTTP1Connection) -> Bool {
        guard sendsFiles, transfer.pacer.rate == nil, let socket = connection.plainSocket,
            let length = transfer.feed?.length
        else { return false }
        let room = DirectSend.sendableCount(bytesRead: transfer.feed!.bytesRead, of: length)
        guard room > 0, let count = transfer.feed!.send(upTo: room, into: socket) else { return false }
        if count > 0 {
            direct.recordSend(end: transfer.feed!.bytesRead)
            connection.addWritten(count)
            counter.add(body: count, total: count)
        }
        if count == 0 { connection.isWritable = false }
        return true
    }

    /// Returns how many of the given number of bytes may be read now, or `nil` if the end of the body waits until the
    /// directly sent bytes are acknowledged.
    private mutating func readable(_ most: Int, of transfer: Transfer) -> Int? {
        guard direct.unacknowledgedEnd != nil, let feed = transfer.feed, let length = feed.length else { return most }
        let acknowledged = { [counter] in counter.acknowledgedBody }
        let room = direct.readable(bytesRead: feed.bytesRead, of: length, upTo: most, acknowledged: acknowledged)
        guard room == 0 else { return room }
        transfer.delayBody(until: .now + direct.nextPollDelay())
        return nil
    }
}
