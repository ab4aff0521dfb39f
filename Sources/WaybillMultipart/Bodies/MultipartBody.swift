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
/// Memory: the texts and data of the form. A reader of files adds at most 256 KiB, and only if a disk makes it wait.
public struct MultipartBody: UploadBody {
    /// The boundary in use.
    public let boundary: MultipartBoundary
    /// Where the content of each part lies.
    public let parts: [BodyPart]
    let segments: SegmentList
    /// How files are read; tests change it.
    package var disk = DiskAccess()

    init(boundary: MultipartBoundary, segments: SegmentList, parts: [BodyPart]) {
        self.boundary = boundary
        self.segments = segments
        self.parts = parts
    }

    /// The exact number of bytes: the value of a `Content-Length` header.
    public var contentLength: Int64 { segments.length }
    /// The same as ``contentLength``.
    public var length: Int64? { contentLength }
    /// `multipart/form-data; boundary=…`. The boundary is not quoted, and no charset is named: old servers read no
    /// other form.
    public var contentType: String? { "multipart/form-data; boundary=\(boundary)" }
    /// True: texts, data and files can all be read again.
    public var isReplayable: Bool { true }

    /// Makes the reader of one attempt. Files are opened when their turn comes.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        SegmentReader(segments, disk: disk, holdsBack: false, wake: wake)
    }

    /// The bytes in chunks of at most 64 KiB, read as they are asked for. Each loop over it reads from the start.
    public var chunks: BodyChunks { BodyChunks(body: self) }

    /// Writes the bytes to a new file that only its owner may read (mode 0600).
    ///
    /// - Throws: ``BodyError/Code/fileExists`` when something lies at the path, a link included. On any failure, and
    ///   when the task is cancelled, the file is removed again.
    public func write(to path: String) async throws(BodyError) {
        try await BodyFileWriter(path: path).write(chunks)
    }
}

extension MultipartBody: CustomStringConvertible, CustomReflectable {
    /// Length and part names; never a content.
    public var description: String {
        let names = parts.map { quoted($0.name) }.joined(separator: ", ")
        return "multipart body of \(contentLength) bytes: \(names.isEmpty ? "no parts" : names)"
    }

    /// The description only, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
