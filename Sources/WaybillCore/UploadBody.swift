/// Something that can be sent as the body of a request, once or many times.
///
/// A body says what it is before a byte is read: its length, its content type, and whether it can be sent again.
/// Each attempt asks for a reader of its own; replay is a new reader, never a rewind.
public protocol UploadBody: Sendable {
    /// The exact number of bytes that every reader yields, or `nil` when nobody knows before the end.
    var length: Int64? { get }

    /// Whether ``makeReader(wake:)`` may be called more than once. A body made of files and values is replayable;
    /// one that wraps a one-shot stream is not.
    var isReplayable: Bool { get }

    /// The value of the `Content-Type` header that goes with the bytes, if the body knows it.
    var contentType: String? { get }

    /// Where each named part ends in the body, in order, for progress by part. Empty for a body without parts.
    var parts: [BodyPart] { get }

    /// Makes the reader of one attempt.
    ///
    /// - Parameter wake: To be called, from any thread and as often as wanted, when a reader that answered
    ///   ``BodyRead/later`` has something to give. It never blocks and never calls back into the reader.
    /// - Returns: A reader at the first byte.
    /// - Throws: Why the body can't be read (a file that is gone or was changed since its length was promised), or
    ///   that a one-shot body was asked for a second reader.
    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader
}

extension UploadBody {
    /// `nil`: the body doesn't name its type.
    public var contentType: String? { nil }
    /// No parts.
    public var parts: [BodyPart] { [] }
}

/// One attempt's way through a body, from the first byte to the last.
///
/// A reader is used by one thread at a time and is never asked again after it answered ``BodyRead/end``, threw, or was
/// closed.
public protocol BodyReader: AnyObject {
    /// Appends bytes to `output`, as many as are at hand and fit.
    ///
    /// It must not block: bytes that would need a wait (a cold disk page, a stream) are answered by
    /// ``BodyRead/later`` and announced by the wake-up handed to ``UploadBody/makeReader(wake:)``.
    ///
    /// - Parameter output: Free room of at least one byte.
    /// - Returns: ``BodyRead/bytes(_:)`` with the number of bytes appended, at least one; ``BodyRead/later``; or
    ///   ``BodyRead/end``, only after the last byte.
    /// - Throws: Why the bytes promised can't be had. The transfer is aborted; nothing is sent in their place.
    func read(into output: inout OutputRawSpan) throws -> BodyRead

    /// Gives back files and buffers. Called exactly once, whatever happened.
    func close()
}

/// The answer of a ``BodyReader``.
public enum BodyRead: Sendable, Hashable {
    /// So many bytes were appended; at least one.
    case bytes(Int)
    /// Nothing now; the wake-up will tell.
    case later
    /// The body is complete.
    case end
}

/// A named stretch of a body.
public struct BodyPart: Sendable, Hashable {
    /// The field name.
    public var name: String
    /// The file name, for parts that have one.
    public var fileName: String?
    /// Where the content of the part lies in the body.
    public var range: Range<Int64>

    /// Describes a part.
    public init(name: String, fileName: String? = nil, range: Range<Int64>) {
        self.name = name
        self.fileName = fileName
        self.range = range
    }
}

/// A reader of bytes that lie in files, which the kernel can send without a copy in memory.
///
/// It is asked beside ``BodyReader/read(into:)``, on the same thread, whenever the one who sends has a socket of its own for
/// the plain bytes. A reader that inspects the bytes, such as for a checksum, does not conform, and all its bytes are read.
package protocol FileSendingReader: BodyReader {
    /// Sends what comes next out of its file into a socket that does not block (`sendfile(2)`). It waits for neither of them.
    ///
    /// Until the peer acknowledges them, the kernel has no copy of these bytes, and sends what is in the file by then. So the
    /// end of a body is to be read, after that: only a read looks whether files are still what they were.
    ///
    /// - Returns: How many bytes the socket took, 0 when it takes none now, or `nil` when what comes next has to be read:
    ///   it is in no file, or not in memory, or the kernel can't do it. The next read reports an error of the file.
    func send(upTo count: Int, into socket: Int32) -> Int?
}
