public import WaybillCore

/// A stream of chunks as the whole body of a request. It can be sent once.
///
/// The stream is asked for its next chunk only when the last one was taken, so that no more than two chunks are in
/// memory, however slow the network is.
///
/// ```swift
/// let body = SequenceBody(recorder.chunks, length: nil, contentType: "audio/ogg")
/// ```
///
/// With a declared length, the chunk that completes it is held back until the stream ends: a stream that gives more
/// (``BodyError/Code/tooManyBytes``) or fewer bytes (``BodyError/Code/tooFewBytes``) never looks complete to a server. Such
/// a stream must therefore end by itself.
public struct SequenceBody: UploadBody {
    /// The number of bytes that was declared.
    public let length: Int64?
    /// The content type, if it was given.
    public let contentType: String?
    private let pump: OneShotPump

    /// Makes a body of a stream.
    ///
    /// `length` is the exact number of bytes, or `nil` if nobody knows; the server then must take a body of unknown
    /// length.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int64?, contentType: String? = nil)
    where Chunks.Element == [UInt8] {
        self.length = length
        self.contentType = contentType
        self.pump = OneShotPump { slot in
            do {
                for try await chunk in chunks {
                    guard await slot.put(chunk) else { return }
                }
                slot.end(nil)
            } catch {
                slot.end(error)
            }
        }
    }

    /// False: a stream is read once.
    public var isReplayable: Bool { false }

    /// Makes the only reader. Closing it cancels the task that pulls the stream.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable`` at the second call.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        guard let start = pump.take() else {
            throw BodyError(
                .bodyNotReplayable,
                "This body is a stream and was read already. To send it again, give it as data or as a file.")
        }
        return SequenceReader(length: length, slot: ChunkSlot(wake: wake), pump: start)
    }
}

/// Pulls a stream into a slot; to be had once.
final class OneShotPump: Sendable {
    typealias Run = @Sendable (ChunkSlot) async -> Void

    private let run: Locked<Run?>

    init(_ run: @escaping Run) {
        self.run = Locked(run)
    }

    func take() -> Run? {
        run.withLock { run in
            defer { run = nil }
            return run
        }
    }
}
