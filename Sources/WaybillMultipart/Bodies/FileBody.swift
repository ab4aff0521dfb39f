public import WaybillCore

/// A file as the whole body of a request: a `PUT` to an object store, for example.
///
/// The last buffer is held back until the file was looked at again and is still what it was: a file that shrank, grew,
/// was written to or replaced while it was sent gives ``BodyError/Code/sourceChanged``, and the server never gets a
/// complete body. (A server on the same machine may, if it is written to after all of it lies in that server's buffers.)
///
/// ```swift
/// let body = try FileBody(path: "scan.pdf")
/// print(body.length!, body.contentType!)       // 48213 application/pdf
/// ```
public struct FileBody: UploadBody {
    /// The content type: given, or told by the ending of the path.
    public let contentType: String?
    private let segments: SegmentList
    /// How files are read; tests change it.
    package var disk = DiskAccess()

    /// Looks at the file. This may wait for the disk for a moment.
    ///
    /// - Throws: ``BodyError``: no file there, not a regular one, not readable, or a control character in the type.
    public init(path: String, contentType: String? = nil) throws(BodyError) {
        guard Self.isAllowed(contentType) else {
            throw BodyError(
                .invalidContentType,
                "\(quoted(contentType ?? "")) can't be a content type: it is empty or contains a control character.")
        }
        self.init(try SourceFile(inspecting: path, at: nil), contentType)
    }

    /// Looks at the file on the pool: where tasks run, waiting for a disk would keep others waiting.
    package static func looking(at path: String, contentType: String? = nil) async throws(BodyError) -> FileBody {
        try await ReaderPool.shared.run(reading: path) { () throws(BodyError) in
            try FileBody(path: path, contentType: contentType)
        }
    }

    /// Looks at the file without waiting; `nil` where ``init(path:contentType:)`` would wait, or has something to complain of.
    package init?(atOnce path: String, contentType: String? = nil) {
        guard Self.isAllowed(contentType), let source = SourceFile(inspectingAtOnce: path, at: nil) else { return nil }
        self.init(source, contentType)
    }

    private init(_ source: SourceFile, _ contentType: String?) {
        var list = SegmentList()
        list.append(FileSlice(source))
        list.appendVerification()
        segments = list.finished()
        self.contentType =
            contentType ?? ContentTypeTable.standard.type(forFile: source.path) ?? ContentTypeTable.unknown
    }

    private static func isAllowed(_ contentType: String?) -> Bool {
        contentType.map { !$0.utf8.isEmpty && !$0.utf8.contains(where: FormText.isControl) } ?? true
    }

    /// Some of a file that was looked at once for all its ranges: one part of an object that is sent in many. Each range
    /// keeps the promise of the whole, so that a file which changes between two parts is found out by the second.
    ///
    /// - Throws: ``BodyError/Code/invalidRange`` if the file ends before the range does.
    package init(range: Range<Int64>, of source: SourceFile, contentType: String? = nil) throws(BodyError) {
        var list = SegmentList()
        list.append(try FileSlice(source, range: range))
        list.appendVerification()
        self.segments = list.finished()
        self.contentType = contentType
    }

    /// The number of bytes that are sent: the size of the file, or of the range.
    public var length: Int64? { segments.length }
    /// True.
    public var isReplayable: Bool { true }

    /// The bytes, chunk by chunk, as they would be sent: a change of the file meanwhile is an error.
    public var chunks: AsyncValues<[UInt8], BodyError> { AsyncValues(of: self) }

    /// Makes the reader of one attempt. The file is opened at the first read.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, disk: disk, holdsBack: true, wake: wake)
    }
}

extension FileBody: CustomStringConvertible {
    /// The path and the length.
    public var description: String {
        "file body of \(segments.knownLength) bytes from \(quoted(segments.sources.first?.path ?? ""))"
    }
}
