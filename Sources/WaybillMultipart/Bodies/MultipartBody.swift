import Glibc
public import WaybillCore

/// A form that can be sent: its exact length and content type are known, its bytes are a fixed list.
///
/// Every reader gives the same bytes, and exactly ``contentLength`` of them, or fails before the closing boundary.
///
/// ```swift
/// let body = try await form.prepared()
/// for try await chunk in body.chunks { socket.write(chunk) }
/// ```
///
/// Memory: the texts and data of the form. A reader of files adds at most 256 KiB, and only if a disk makes it wait; one of
/// streams two of their chunks.
public struct MultipartBody: UploadBody {
    /// The boundary in use.
    public let boundary: MultipartBoundary
    let segments: SegmentList
    /// All parts; a stream of unknown length counts as if it had no bytes.
    let layout: [BodyPart]
    private let placedCount: Int
    /// How files are read; tests change it.
    package var disk = DiskAccess()

    init(boundary: MultipartBoundary, segments: SegmentList, layout: [BodyPart], placedCount: Int) {
        self.boundary = boundary
        self.segments = segments
        self.layout = layout
        self.placedCount = placedCount
    }

    /// Where the content of each part lies. Parts from the first stream of unknown length on are not among them: their
    /// place shows only when they are sent.
    public var parts: [BodyPart] { placedCount == layout.count ? layout : Array(layout.prefix(placedCount)) }
    /// The exact number of bytes: the value of a `Content-Length` header. `nil` only if the form has a stream of unknown
    /// length and sends it ``UnknownLength/chunked``.
    public var contentLength: Int64? { segments.length }
    /// The same as ``contentLength``.
    public var length: Int64? { contentLength }
    /// `multipart/form-data; boundary=…`. The boundary is quoted only if it needs that, and no charset is named: old servers
    /// read no other form.
    public var contentType: String? { "multipart/form-data; boundary=\(boundary.parameter)" }
    /// Whether it can be sent again: texts, data and files can, and so can streams that are made anew for each attempt or
    /// of which a copy is kept.
    public var isReplayable: Bool { segments.streams.allSatisfy(\.isReplayable) }

    /// Makes the reader of one attempt. Files are opened and streams begun when their turn comes.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable``, naming the part, if a stream was read already.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, disk: disk, holdsBack: false, wake: wake)
    }

    /// The bytes in chunks of at most 64 KiB, read as they are asked for. Each loop over it reads from the start.
    public var chunks: AsyncValues<[UInt8], BodyError> { AsyncValues(of: self) }

    /// The bytes in chunks of exactly so many bytes, apart from the last; for clients that take an asynchronous sequence.
    ///
    /// ```swift
    /// let buffers = body.chunks(ofSize: 524_288).map { ByteBuffer(bytes: $0) }
    /// request.body = .stream(buffers, length: .known(length))                     // AsyncHTTPClient
    /// ```
    ///
    /// Less than one byte counts as one, and a size beyond the body's gives all of it at once. Memory: one chunk.
    public func chunks(ofSize size: Int) -> AsyncValues<[UInt8], BodyError> {
        AsyncValues(of: self, size: max(1, size))
    }

    /// Writes the bytes to a new file that only its owner may read (mode 0600).
    ///
    /// The file appears when it is complete: on any failure, and when the task is cancelled, there is none.
    ///
    /// - Throws: ``BodyError/Code/fileExists`` if something has the path, a link included.
    public func write(to path: String) async throws(BodyError) {
        let file = try await Self.onDisk(path) { () throws(SystemError) in
            guard !NewFile.exists(path) else { throw SystemError(EEXIST) }
            return try NewFile.make(for: path)
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
            throw BodyError(.writeFailed, "A path can't contain a NUL: \(quoted(path)).", path: path)
        }
        return try await ReaderPool.shared.run { () throws(BodyError) in
            do throws(SystemError) {
                return try work()
            } catch  where error.number == EEXIST {
                throw BodyError(
                    .fileExists, "\(path) exists. Remove it or choose another path.", path: path, cause: error)
            } catch {
                throw BodyError(.writeFailed, "\(path) can't be written: \(error).", path: path, cause: error)
            }
        }
    }

    /// What is going to be sent, for people: the header lines, and instead of each content its size.
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
    /// Contents are never shown, and headers that you added only if they are known to carry no credential. Control characters in names are made visible. Nothing is read.
    public func preview() -> String { BodyPreview(self).text }
}

extension MultipartBody: CustomStringConvertible, CustomReflectable {
    /// Length and part names; never a content.
    public var description: String {
        let names = layout.prefix(20).map { quoted($0.name) }.joined(separator: ", ")
        let more = layout.count > 20 ? " and \(layout.count - 20) more" : ""
        let size = contentLength.map { "\($0) bytes" } ?? "unknown length"
        return "multipart body of \(size): \(names.isEmpty ? "no parts" : names + more)"
    }

    /// The description only, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
