public import WaybillCore

/// A stream of chunks as the whole body of a request.
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
    /// The content type, if it was given.
    public let contentType: String?
    /// The number of bytes that was declared.
    public let length: Int64?
    private let source: StreamSource

    /// Makes a body of a stream.
    ///
    /// `length` is the exact number of bytes, or `nil` if nobody knows; the server then must take a body of unknown
    /// length. `replay` says whether a copy is kept, so that the body can be sent again.
    public init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64?, contentType: String? = nil, replay: StreamReplay = .never
    ) where Chunks.Element: Sequence<UInt8> {
        self.length = length.map { max(0, $0) }
        self.contentType = contentType
        source = StreamSource(
            StreamOrigin(chunks), length: self.length, replay: replay, directory: nil, at: nil)
    }

    /// Whether a copy is kept; else false, for a stream is read once.
    public var isReplayable: Bool { source.isReplayable }

    /// Makes a reader. Without a copy it is the only one, and closing it cancels the task that pulls the stream.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable`` at the second call.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try source.makeReader(disk: DiskAccess(), wake: wake)
    }
}
