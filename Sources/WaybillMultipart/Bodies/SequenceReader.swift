import WaybillCore

/// Hands out the chunks of a stream and counts them against the declared length.
final class SequenceReader: BodyReader {
    private let length: Int64?
    private let slot: ChunkSlot
    private let pump: OneShotPump.Run
    private var task: Task<Void, Never>?

    private var chunk: [UInt8] = []
    private var offset = 0
    private var received: Int64 = 0
    private var hasEnded = false
    private var failure: BodyError?

    init(length: Int64?, slot: ChunkSlot, pump: @escaping OneShotPump.Run) {
        self.length = length
        self.slot = slot
        self.pump = pump
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

    func close() {
        failure = BodyError(.readerClosed, "A reader was used after it was closed. Make a new one.")
        task?.cancel()
        slot.close()
        chunk = []
    }

    private func startIfNeeded() {
        guard task == nil else { return }
        let pump = pump
        let slot = slot
        task = Task { await pump(slot) }
    }

    /// Takes the next chunk when the last one is used up, and looks for the end when only the end is missing.
    private func refill() throws(BodyError) {
        guard !hasEnded, offset == chunk.count || isLastChunk else { return }
        switch slot.take() {
        case .nothingYet: return
        case .end(let error): try end(error)
        case .chunk(let next):
            received += Int64(next.count)
            if let length, received > length {
                throw BodyError(
                    .tooManyBytes,
                    "The stream gave at least \(received) bytes, \(length) were declared. The body was not completed.")
            }
            chunk = next
            offset = 0
            // The chunk that seems to be the last: whether the stream ends there may be known by now.
            if isLastChunk { try refill() }
        }
    }

    private func end(_ error: (any Error)?) throws(BodyError) {
        if let error {
            throw BodyError(
                .streamFailed, "The stream failed after \(received) bytes: \(error). The body was not completed.",
                cause: error)
        }
        if let length, received < length {
            throw BodyError(
                .tooFewBytes,
                "The stream ended after \(received) bytes, \(length) were declared. The body was not completed.")
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
    /// Nothing: the chunks may hold what must not be printed.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
