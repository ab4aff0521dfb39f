import Glibc
public import WaybillCore

/// A form that is ready to be sent: its exact length and content type are known, and its bytes are fixed.
///
/// Every reader yields the same bytes, exactly ``contentLength`` of them, or fails before the closing boundary.
///
/// ```swift
/// let body = try await form.prepared()
/// for try await chunk in body.chunks { socket.write(chunk) }
/// ```
///
/// Memory: the text fields and data of the form. A reader of files adds at most 256 KiB, and only if it has to wait for
/// a disk; a reader of streams adds two of their chunks.
public struct MultipartBody: UploadBody {
    /// The boundary of the form.
    public let boundary: MultipartBoundary
    let segments: SegmentList
    /// All parts; a stream of unknown length counts as zero bytes.
    let layout: [BodyPart]
    private let knownRangeCount: Int
    /// Access to files; changed by tests.
    package var disk = DiskAccess()

    init(boundary: MultipartBoundary, segments: SegmentList, layout: [BodyPart], knownRangeCount: Int) {
        self.boundary = boundary
        self.segments = segments
        self.layout = layout
        self.knownRangeCount = knownRangeCount
    }

    /// The byte ranges of the parts' contents. Excludes parts from the first stream of unknown length on, because their
    /// ranges are known only when they are sent.
    public var parts: [BodyPart] { knownRangeCount == layout.count ? layout : Array(layout.prefix(knownRangeCount)) }
    /// The exact number of bytes, the value of the `Content-Length` header. `nil` only if the form contains a stream of
    /// unknown length and sends it ``UnknownLength/chunked``.
    public var contentLength: Int64? { segments.length }
    /// The same as ``contentLength``.
    public var length: Int64? { contentLength }
    /// `multipart/form-data; boundary=…`. The boundary is quoted only if necessary, and there is no charset parameter,
    /// because old servers read no other form.
    public var contentType: String? { "multipart/form-data; boundary=\(boundary.parameter)" }
    /// Whether the body can be sent again. This is the case for text fields, data and files, and for streams that are
    /// created anew for each attempt or of which a copy is kept.
    public var isReplayable: Bool { segments.streams.allSatisfy(\.isReplayable) }

    /// Creates the reader of one attempt. Files are opened and streams started when they are reached.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable``, naming the part, if a stream was read already.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, disk: disk, holdsBack: false, wake: wake)
    }

    /// Creates a reader of a range. It opens only files that the range touches; a stream is read from its copy if there
    /// is one, otherwise from its beginning.
    ///
    /// - Throws: As ``makeReader(wake:)``.
    public func makeReader(
        for range: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) -> any BodyReader {
        guard length != nil else {
            return RangeReader(try makeReader(wake: wake), range: range, bodyLength: nil, wake: wake)
        }
        return try SegmentReader(segments, range: range, disk: disk, holdsBack: false, wake: wake)
    }

    /// The bytes in chunks of at most 64 KiB, read on demand. Each iteration starts from the beginning.
    ///
    /// Leaving the loop closes the files. Cancelling the task throws ``BodyError/Code/cancelled``.
    public var chunks: AsyncValues<[UInt8], BodyError> { AsyncValues(of: self) }

    /// Returns the bytes in chunks of a fixed size, except for the last; for clients that take an asynchronous
    /// sequence.
    ///
    /// ```swift
    /// let buffers = body.chunks(ofSize: 524_288).map { ByteBuffer(bytes: $0) }
    /// request.body = .stream(buffers, length: .known(length))                     // AsyncHTTPClient
    /// ```
    ///
    /// A size below 1 counts as 1; one beyond the length of the body yields a single chunk. Memory: one chunk.
    public func chunks(ofSize size: Int) -> AsyncValues<[UInt8], BodyError> {
        AsyncValues(of: self, size: max(1, size))
    }

    /// Writes the bytes to a new file that only its owner can read (mode 0600).
    ///
    /// The file appears under its path only when complete. On failure or cancellation, no file is left.
    ///
    /// - Throws: ``BodyError/Code/fileExists`` if the path exists, even as a symbolic link.
    public func write(to path: String) async throws(BodyError) {
        let file = try await Self.onDisk(path) { () throws(SystemError) in
            guard AtomicFile.destination(path) == .free else { throw SystemError(EEXIST) }
            return try AtomicFile.make(for: path)
        }
        for try await chunk in chunks {
            try await Self.onDisk(path) { () throws(SystemError) in try file.append(chunk) }
        }
        try await Self.onDisk(path) { () throws(SystemError) in
            try file.synchronize()
            try file.link(to: path)
        }
    }

    private static func onDisk<Value: Sendable>(
        _ path: String, _ work: @escaping @Sendable () throws(SystemError) -> Value
    ) async throws(BodyError) -> Value {
        guard !path.utf8.contains(0) else {
            throw BodyError(.writeFailed, "Invalid path \(quoted(path)). A path must not contain a NUL.", path: path)
        }
        return try await ReaderPool.shared.run { () throws(BodyError) in
            do throws(SystemError) {
                return try work()
            } catch  where error.number == EEXIST {
                throw BodyError(
                    .fileExists, "\(path) exists. Remove it or choose another path.", path: path, cause: error)
            } catch {
                throw BodyError(.writeFailed, "Could not write \(path): \(error).", path: path, cause: error)
            }
        }
    }

    /// Returns a description of the body for people: the header lines, and the size of each content.
    ///
    /// ```text
    /// ------Waybill6f0c…
    /// Content-Disposition: form-data; name="FILE"; filename="front.jpg"
    /// Content-Type: image/jpeg
    ///
    /// <101872 bytes>
    /// ------Waybill6f0c…--
    /// ```
    ///
    /// Contents are never shown. Headers added by the caller are shown only if they are known not to carry credentials.
    /// Control characters in names are escaped. Nothing is read.
    public func preview() -> String { BodyPreview(self).text }
}

extension MultipartBody: CustomStringConvertible, CustomReflectable {
    /// The length and the names of the parts; never their contents.
    public var description: String {
        let names = layout.prefix(20).map { quoted($0.name) }.joined(separator: ", ")
        let more = layout.count > 20 ? " and \(layout.count - 20) more" : ""
        let size = contentLength.map { "\($0) bytes" } ?? "unknown length"
        return "multipart body of \(size): \(names.isEmpty ? "no parts" : names + more)"
    }

    /// Only the description, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
