/// A request body, which can be sent once or many times.
///
/// A body provides its length, its content type and whether it can be sent again before any byte is read. Each attempt
/// makes a new reader; readers are never rewound.
public protocol UploadBody: Sendable {
    /// The exact number of bytes that every reader yields, or `nil` if it is not known in advance.
    var length: Int64? { get }

    /// Whether ``makeReader(wake:)`` may be called more than once. A body made of files and values is replayable; a
    /// body that wraps a one-shot stream is not.
    var isReplayable: Bool { get }

    /// The value of the `Content-Type` header for the body, if the body determines it.
    var contentType: String? { get }

    /// The ranges of the named parts in the body, in order, for progress by part. Empty for a body without parts.
    var parts: [BodyPart] { get }

    /// Creates the reader of one attempt.
    ///
    /// - Parameter wake: A closure to call, from any thread and any number of times, when a reader that returned
    ///   ``BodyRead/later`` has bytes available. It never blocks and never calls back into the reader.
    /// - Returns: A reader at the first byte.
    /// - Throws: The reason why the body can't be read, such as a file that is missing or was changed since its length
    ///   was determined, or an error if a second reader of a one-shot body is requested.
    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader

    /// Creates the reader of a range of the body, as each request of a resumable upload needs it.
    ///
    /// The default implementation reads the bytes before the range and discards them, so its cost grows with the start
    /// of the range. The bodies of this package begin at the start of the range.
    ///
    /// - Parameters:
    ///   - range: The range. Only if the length of the body is unknown may it end behind the last byte.
    ///   - wake: As for ``makeReader(wake:)``.
    /// - Returns: A reader at the first byte of the range, which ends after its last byte. If files are part of the
    ///   body, it has checked before its end that they are unchanged.
    /// - Throws: As ``makeReader(wake:)``.
    func makeReader(for range: Range<Int64>, wake: @escaping @Sendable () -> Void) throws -> any BodyReader
}

extension UploadBody {
    /// Reads the bytes before the range and discards them.
    public func makeReader(
        for range: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws -> any BodyReader {
        RangeReader(try makeReader(wake: wake), range: range, bodyLength: length, wake: wake)
    }

    /// `nil`: the body does not determine its content type.
    public var contentType: String? { nil }
    /// No parts.
    public var parts: [BodyPart] { [] }
}

/// A reader of a body for one attempt, from the first byte to the last.
///
/// A reader is used by one thread at a time. It is not called again after ``BodyRead/end``, an error, or ``close()``.
public protocol BodyReader: AnyObject {
    /// Appends as many bytes to `output` as are available and fit.
    ///
    /// It must not block. If bytes are not available immediately (an uncached disk page, a stream), it returns
    /// ``BodyRead/later`` and later calls the closure passed to ``UploadBody/makeReader(wake:)``.
    ///
    /// - Parameter output: Free space of at least one byte.
    /// - Returns: ``BodyRead/bytes(_:)`` with the number of bytes appended, at least one; ``BodyRead/later``; or
    ///   ``BodyRead/end``, only after the last byte.
    /// - Throws: The reason why the promised bytes are unavailable. The transfer is aborted; nothing is sent in their
    ///   place.
    func read(into output: inout OutputRawSpan) throws -> BodyRead

    /// Releases files and buffers. Called exactly once, whatever the outcome.
    func close()
}

/// The result of a read from a ``BodyReader``.
public enum BodyRead: Sendable, Hashable {
    /// The given number of bytes was appended; at least one.
    case bytes(Int)
    /// No bytes are available now. The reader calls the wake-up closure when there are.
    case later
    /// The body is complete.
    case end
}

/// The range of a named part in a body.
public struct BodyPart: Sendable, Hashable {
    /// The field name.
    public var name: String
    /// The file name, for parts that have one.
    public var fileName: String?
    /// The range of the part's content in the body.
    public var range: Range<Int64>

    /// Creates a part.
    public init(name: String, fileName: String? = nil, range: Range<Int64>) {
        self.name = name
        self.fileName = fileName
        self.range = range
    }
}

/// A reader of file content, which the kernel can send without a copy in memory.
///
/// It is used in addition to ``BodyReader/read(into:)``, on the same thread, when the transport has a socket for
/// unencrypted bytes. A reader that inspects the bytes, such as for a checksum, does not conform, so all its bytes are
/// read.
package protocol FileSendingReader: BodyReader {
    /// Sends the next bytes of the file to a non-blocking socket (`sendfile(2)`). It waits for neither of them.
    ///
    /// Until the peer acknowledges these bytes, the kernel has no copy of them: it sends what the file contains at that
    /// time. The caller must therefore read the end of the body afterwards, which also checks whether files have
    /// changed.
    ///
    /// - Returns: The number of bytes that the socket accepted, 0 if it accepts none now, or `nil` if the next bytes
    ///   have to be read: they are not in a file, not in memory, or the kernel does not support it. The next read
    ///   reports an error of the file.
    func send(upTo count: Int, into socket: Int32) -> Int?
}
