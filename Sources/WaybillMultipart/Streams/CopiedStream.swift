import WaybillCore

/// A stream that can be iterated only once, with a copy on disk of all bytes read so far.
///
/// One task pulls the stream for the lifetime of the body, on demand of the current attempt's reader. Each chunk is
/// written to the copy before it is delivered. A later reader first repeats the copy and then receives the following
/// chunks; so whatever happens to an attempt, no byte is lost and none is requested twice.
final class CopiedStream: Sendable {
    private let core: Core

    init(_ origin: StreamOrigin, directory: String?, at location: PartLocation?) {
        core = Core(origin, directory: directory, at: location)
    }

    deinit {
        core.abandon()
    }

    /// Makes a slot the destination of new chunks.
    ///
    /// - Returns: The bytes read so far, which the reader has to repeat first; `nil` if there are none.
    func attach(_ slot: ChunkSlot) -> SourceFile? { core.attach(slot) }

    /// The number of bytes in the copy; it only grows.
    var copiedBytes: Int64 { core.copiedBytes }

    // Separate from the outer object, so that the task does not keep alive the object whose deinit cancels it.
    private final class Core: Sendable {
        private struct State: Sendable {
            var file: SpillFile?
            var written: Int64 = 0
            var reader: ChunkSlot?
            var isStarted = false
            var isAbandoned = false
            var end: End?
            var task: Task<Void, Never>?
            var waiter: CheckedContinuation<Void, Never>?
        }

        private struct End: Sendable {
            let error: (any Error)?
        }

        private let origin: StreamOrigin
        private let directory: String?
        private let location: PartLocation?
        private let state = Locked(State())

        init(_ origin: StreamOrigin, directory: String?, at location: PartLocation?) {
            self.origin = origin
            self.directory = directory
            self.location = location
        }

        func attach(_ slot: ChunkSlot) -> SourceFile? {
            let (copied, end, waiter, isFirst, previous) = state.withLock { state in
                let previous = state.reader
                state.reader = slot
                let isFirst = !state.isStarted
                state.isStarted = true
                return (state.file?.source(state.written), state.end, state.waiter.take(), isFirst, previous)
            }
            // One attempt at a time: a reader of an earlier attempt receives an error.
            previous?.end(BodyError(.readerClosed, "A later reader replaced this reader of the stream."))
            previous?.close()
            if let end { slot.end(end.error) }
            waiter?.resume()
            if isFirst {
                let task = Task { await pull() }
                let isAbandoned = state.withLock { state in
                    state.task = task
                    return state.isAbandoned
                }
                if isAbandoned { task.cancel() }
            }
            return copied
        }

        var copiedBytes: Int64 { state.withLock { $0.written } }

        func abandon() {
            let (task, reader, waiter) = state.withLock { state in
                state.isAbandoned = true
                return (state.task, state.reader, state.waiter.take())
            }
            task?.cancel()
            reader?.close()
            waiter?.resume()
        }

        private func pull() async {
            var failure: (any Error)?
            do {
                let pump = try origin.pump(at: location)
                try await pump { await self.receive($0) }
            } catch {
                failure = error
            }
            let last = End(error: failure)
            let (reader, end) = state.withLock { state in
                // An error of the copy takes precedence over the end of the stream that it caused.
                let end = state.end ?? last
                state.end = end
                return (state.reader, end)
            }
            reader?.end(end.error)
        }

        /// Copies a chunk, passes it to the current reader, and waits until the next chunk is wanted.
        private func receive(_ chunk: [UInt8]) async -> Bool {
            guard !chunk.isEmpty else { return !Task.isCancelled }
            do throws(BodyError) {
                try await copy(chunk)
            } catch {
                state.withLock { $0.end = End(error: error) }
                return false
            }
            let reader = state.withLock { state in
                state.written += Int64(chunk.count)
                return state.reader
            }
            if let reader, await !reader.put(chunk) {
                state.withLock { if $0.reader === reader { $0.reader = nil } }
            }
            return await waitUntilMoreIsWanted()
        }

        private func copy(_ chunk: [UInt8]) async throws(BodyError) {
            let (file, offset) = state.withLock { ($0.file, $0.written) }
            let (directory, location) = (directory, location)
            let used = try await ReaderPool.shared.run { () throws(BodyError) in
                let file = if let file { file } else { try SpillFile(in: directory, at: location) }
                try file.write(chunk, at: offset)
                return file
            }
            state.withLock { $0.file = used }
        }

        private func waitUntilMoreIsWanted() async -> Bool {
            await withCheckedContinuation { continuation in
                let canContinue = state.withLock { state in
                    if state.reader != nil || state.isAbandoned { return true }
                    state.waiter = continuation
                    return false
                }
                if canContinue { continuation.resume() }
            }
            return state.withLock { !$0.isAbandoned }
        }
    }
}

/// Repeats the copy of a stream and continues with the stream.
final class CopiedStreamReader: BodyReader {
    private let stream: CopiedStream
    private let start: Int64
    private let length: Int64?
    private let slot: ChunkSlot
    private let disk: DiskAccess
    private let location: PartLocation?
    private let wake: @Sendable () -> Void
    private var copy: SegmentReader?
    private var rest: SequenceReader?

    /// Creates a reader that starts at an offset within the copy.
    init(
        _ stream: CopiedStream, from start: Int64, length: Int64?, slot: ChunkSlot, disk: DiskAccess,
        at location: PartLocation?, wake: @escaping @Sendable () -> Void
    ) {
        self.stream = stream
        self.start = start
        self.length = length
        self.slot = slot
        self.disk = disk
        self.location = location
        self.wake = wake
    }

    deinit {
        close()
    }

    func read(into output: inout OutputRawSpan) throws(BodyError) -> BodyRead {
        let rest = if let rest { rest } else { try begin() }
        guard let copy else { return try rest.read(into: &output) }
        // The copy may contain the declared length; first find out whether the stream ended there.
        guard try rest.mayCompleteBody() else { return .later }
        let outcome = try copy.read(into: &output)
        guard outcome == .end else { return outcome }
        copy.close()
        self.copy = nil
        return try rest.read(into: &output)
    }

    func close() {
        copy?.close()
        rest?.close()
        slot.close()
    }

    private func begin() throws(BodyError) -> SequenceReader {
        let copied = stream.attach(slot)
        if let copied {
            var list = SegmentList()
            list.append(FileSlice(copied).slice(start..<copied.stamp.size))
            copy = try SegmentReader(list.finished(), disk: disk, holdsBack: false, wake: wake)
        }
        let rest = SequenceReader(length: length, received: copied?.stamp.size ?? 0, slot: slot, at: location) { nil }
        self.rest = rest
        return rest
    }
}
