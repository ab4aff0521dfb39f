import WaybillCore

extension AsyncValues<[UInt8], BodyError> {
    /// Creates a sequence of the bytes of any body, in chunks of the given size or as they are read.
    package init(of body: any UploadBody, size: Int? = nil) {
        self.init {
            let source = ChunkSource(body: body, size: size)
            return { () async throws(BodyError) in try await source.next() }
        }
    }
}

/// Drives a reader from a task: suspends while the reader returns `later`.
final class ChunkSource {
    private static let maxChunkBytes = 64 * 1_024

    private let body: any UploadBody
    // The requested exact chunk size, if any.
    private let size: Int?
    private let signal = WakeSignal()
    private var reader: (any BodyReader)?
    private var isFinished = false

    init(body: any UploadBody, size: Int?) {
        self.body = body
        self.size = size
    }

    deinit {
        reader?.close()
    }

    nonisolated(nonsending) func next() async throws(BodyError) -> [UInt8]? {
        guard !isFinished else { return nil }
        do throws(BodyError) {
            let reader = try openReader()
            var chunk: [UInt8] = []
            while true {
                guard !Task.isCancelled else { throw BodyError.taskCancelled }
                // The size may exceed the available memory: allocate for the bytes read, not for the requested size.
                let capacity = min(Self.maxChunkBytes, (size ?? Self.maxChunkBytes) - chunk.count)
                let (outcome, bytes) = try Self.read(reader, atMost: capacity)
                switch outcome {
                case .bytes:
                    if chunk.isEmpty { chunk = bytes } else { chunk += bytes }
                    if chunk.count >= size ?? 1 { return chunk }
                case .later: await signal.wait()
                case .end:
                    finish()
                    return chunk.isEmpty ? nil : chunk
                }
            }
        } catch {
            finish()
            throw error
        }
    }

    private func openReader() throws(BodyError) -> any BodyReader {
        if let reader { return reader }
        let signal = signal
        let newReader: any BodyReader
        do {
            newReader = try body.makeReader { signal.wake() }
        } catch {
            throw Self.bodyError(error)
        }
        reader = newReader
        return newReader
    }

    private func finish() {
        isFinished = true
        reader?.close()
        reader = nil
    }

    private static func read(_ reader: any BodyReader, atMost count: Int) throws(BodyError) -> (BodyRead, [UInt8]) {
        var outcome = Result<BodyRead, any Error>.success(.end)
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count])
            var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
            do {
                outcome = .success(try reader.read(into: &output))
            } catch {
                outcome = .failure(error)
            }
            unsafe used = output.finalize(for: target)
        }
        do {
            return (try outcome.get(), chunk)
        } catch {
            throw bodyError(error)
        }
    }

    private static func bodyError(_ error: any Error) -> BodyError {
        error as? BodyError ?? BodyError(.readFailed, "The body could not be read: \(error)", cause: error)
    }
}

/// A wake-up signal that is never lost: a signal sent before the next wait makes that wait return immediately.
final class WakeSignal: Sendable {
    private enum State: Sendable {
        case idle, signaled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Locked<State>(.idle)

    func wake() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else {
                state = .signaled
                return nil
            }
            state = .idle
            return continuation
        }
        waiting?.resume()
    }

    /// Suspends until a wake-up or the task's cancellation.
    nonisolated(nonsending) func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSignaled = state.withLock { state in
                    if case .signaled = state {
                        state = .idle
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isSignaled { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }
}
