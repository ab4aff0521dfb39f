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
    private static let largestChunk = 64 * 1_024

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
            let reader = try begin()
            var chunk: [UInt8] = []
            while true {
                guard !Task.isCancelled else { throw BodyError.taskCancelled }
                // The size may exceed the available memory: allocate for the bytes read, not for the requested size.
                let room = min(Self.largestChunk, (size ?? Self.largestChunk) - chunk.count)
                let (answer, bytes) = try Self.read(reader, atMost: room)
                switch answer {
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

    private func begin() throws(BodyError) -> any BodyReader {
        if let reader { return reader }
        let signal = signal
        let made: any BodyReader
        do {
            made = try body.makeReader { signal.wake() }
        } catch {
            throw Self.bodyError(error)
        }
        reader = made
        return made
    }

    private func finish() {
        isFinished = true
        reader?.close()
        reader = nil
    }

    private static func read(_ reader: any BodyReader, atMost count: Int) throws(BodyError) -> (BodyRead, [UInt8]) {
        var answer = Result<BodyRead, any Error>.success(.end)
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count])
            var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            do {
                answer = .success(try reader.read(into: &output))
            } catch {
                answer = .failure(error)
            }
            unsafe used = output.finalize(for: room)
        }
        do {
            return (try answer.get(), chunk)
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
        case quiet, rung
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Locked<State>(.quiet)

    func wake() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard case .waiting(let continuation) = state else {
                state = .rung
                return nil
            }
            state = .quiet
            return continuation
        }
        waiting?.resume()
    }

    /// Suspends until a wake-up or the task's cancellation.
    nonisolated(nonsending) func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRung = state.withLock { state in
                    if case .rung = state {
                        state = .quiet
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isRung { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }
}
