import WaybillCore

/// Reads the chunks of a stream and checks their length against the declared length.
final class SequenceReader: BodyReader {
    /// Starts the stream and returns its task; `nil` if the stream is already running.
    typealias Start = () -> Task<Void, Never>?

    private let length: Int64?
    private let slot: ChunkSlot
    private let location: PartLocation?
    private let start: Start
    private var isStarted = false
    private var task: Task<Void, Never>?

    private var chunk: [UInt8] = []
    private var offset = 0
    private var received: Int64
    private var hasEnded = false
    private var failure: BodyError?

    /// Creates a reader of a stream of which `received` bytes were read from elsewhere.
    init(
        length: Int64?, received: Int64 = 0, slot: ChunkSlot, at location: PartLocation?, start: @escaping Start
    ) {
        self.length = length
        self.received = received
        self.slot = slot
        self.location = location
        self.start = start
    }

    deinit {
        close()
    }

    func read(into output: inout OutputRawSpan) throws(BodyError) -> BodyRead {
        if let failure { throw failure }
        startIfNeeded()
        do throws(BodyError) {
            var appended = 0
            while output.freeCapacity > 0 {
                try refill()
                let count = copy(to: &output)
                if count == 0 { break }
                appended += count
            }
            if appended > 0 { return .bytes(appended) }
            return hasEnded && offset == chunk.count ? .end : .later
        } catch {
            failure = error
            throw error
        }
    }

    /// Whether the bytes received so far may be sent: they are fewer than declared, or the stream has ended after them.
    func mayCompleteBody() throws(BodyError) -> Bool {
        if let failure { throw failure }
        do throws(BodyError) {
            if isLastChunk { try refill() }
        } catch {
            failure = error
            throw error
        }
        return hasEnded || !isLastChunk
    }

    func close() {
        failure = BodyError(.readerClosed, "The reader was used after it was closed. Create a new reader.")
        task?.cancel()
        slot.close()
        chunk = []
    }

    private func startIfNeeded() {
        guard !isStarted else { return }
        isStarted = true
        task = start()
    }

    /// Takes the next chunk if the last one is used up, and checks for the end if only the end is outstanding.
    private func refill() throws(BodyError) {
        guard !hasEnded, offset == chunk.count || isLastChunk else { return }
        switch slot.take() {
        case .empty: return
        case .end(let error): try end(error)
        case .chunk(let next):
            received += Int64(next.count)
            if let length, received > length {
                throw BodyError(
                    .tooManyBytes,
                    "The stream yielded at least \(received) bytes, but \(length) were declared. "
                        + "The body is incomplete.",
                    at: location)
            }
            chunk = next
            offset = 0
            // All declared bytes have arrived: the end of the stream may already be known.
            if isLastChunk { try refill() }
        }
    }

    private func end(_ error: (any Error)?) throws(BodyError) {
        if let error { throw BodyError.stream(error, after: received, at: location) }
        if let length, received < length {
            throw BodyError(
                .tooFewBytes,
                "The stream ended after \(received) bytes, but \(length) were declared. The body is incomplete.",
                at: location)
        }
        hasEnded = true
    }

    private var isLastChunk: Bool { length == received }

    private func copy(to output: inout OutputRawSpan) -> Int {
        guard hasEnded || !isLastChunk else { return 0 }
        let count = min(output.freeCapacity, chunk.count - offset)
        let start = offset
        unsafe chunk.withUnsafeBytes { bytes in
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]), to: &output)
        }
        offset += count
        return count
    }
}

extension SequenceReader: CustomReflectable {
    /// Empty: the chunks may contain values that must not be printed.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
