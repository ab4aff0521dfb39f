public import WaybillCore

/// A stream of chunks as the whole body of a request.
///
/// The next chunk is requested only after the last one was taken, so at most two chunks are in memory.
///
/// ```swift
/// let body = SequenceBody(recorder.chunks, length: nil, contentType: "audio/ogg")
/// ```
///
/// With a declared length, the chunk that completes it is held back until the stream ends: a stream that yields more
/// (``BodyError/Code/tooManyBytes``) or fewer bytes (``BodyError/Code/tooFewBytes``) never looks complete to a server.
/// Such a stream must therefore end without waiting for the server.
public struct SequenceBody: UploadBody {
    /// The content type, if it was given.
    public let contentType: String?
    /// The declared number of bytes.
    public let length: Int64?
    private let source: StreamSource

    /// Creates a body from a stream.
    ///
    /// `length` is the exact number of bytes, or `nil` if it is unknown; the server must then accept a body of unknown
    /// length. `replay` determines whether a copy is kept, so that the body can be sent again.
    public init<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64?, contentType: String? = nil, replay: StreamReplay = .never
    ) where Chunks.Element: Sequence<UInt8> {
        self.length = length.map { max(0, $0) }
        self.contentType = contentType
        source = StreamSource(
            StreamOrigin(chunks), length: self.length, replay: replay, directory: nil, at: nil)
    }

    /// Whether a copy is kept. Without one, the stream can be read only once.
    public var isReplayable: Bool { source.isReplayable }

    /// Creates a reader. Without a copy it is the only one, and closing it cancels the task that pulls the stream.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable`` at the second call.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try source.makeReader(disk: DiskAccess(), wake: wake)
    }

    /// Creates a reader of a range: from the copy of the stream if there is one, otherwise from the beginning of a new
    /// stream.
    ///
    /// - Throws: As ``makeReader(wake:)``.
    public func makeReader(
        for range: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) -> any BodyReader {
        try source.slice(range).makeReader(disk: DiskAccess(), wake: wake)
    }
}
