public import WaybillCore

/// A file as the whole body of a request, for example a `PUT` to an object store.
///
/// The last buffer is held back until the file has been checked again: a file that shrank, grew, was modified or
/// replaced while it was sent fails with ``BodyError/Code/sourceChanged``, and the server never receives a complete
/// body. (A server on the same machine may receive one if the file is modified after all of it is in the server's
/// buffers.)
///
/// ```swift
/// let body = try FileBody(path: "scan.pdf")
/// print(body.length!, body.contentType!)       // 48213 application/pdf
/// ```
public struct FileBody: UploadBody {
    /// The content type: as given, or derived from the file name extension.
    public let contentType: String?
    let segments: SegmentList
    /// Access to files; changed by tests.
    package var disk = DiskAccess()

    /// Creates a body from the file at a path. Inspecting the file may briefly block on the disk.
    ///
    /// - Throws: ``BodyError`` if the file does not exist, is not a regular file or is not readable, or if the content
    ///   type contains a control character.
    public init(path: String, contentType: String? = nil) throws(BodyError) {
        guard Self.isAllowed(contentType) else {
            throw BodyError(
                .invalidContentType,
                "Invalid content type \(quoted(contentType ?? "")). It must not be empty or contain control characters."
            )
        }
        self.init(try SourceFile(inspecting: path, at: nil), contentType)
    }

    /// Returns a body for the file at a path, inspecting the file on the pool so that no thread of Swift's pool blocks.
    package static func inspecting(_ path: String, contentType: String? = nil) async throws(BodyError) -> FileBody {
        try await ReaderPool.shared.run(reading: path) { () throws(BodyError) in
            try FileBody(path: path, contentType: contentType)
        }
    }

    /// Creates a body without waiting. Returns `nil` if ``init(path:contentType:)`` would wait or throw.
    package init?(inspectingSynchronously path: String, contentType: String? = nil) {
        guard Self.isAllowed(contentType), let source = SourceFile(inspectingSynchronously: path, at: nil) else {
            return nil
        }
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

    /// Creates a body from a range of a file that was inspected once for all its ranges, such as one part of a
    /// multipart object upload. Each range is checked against the state of the whole file, so that a change between two
    /// parts is detected in the second one.
    ///
    /// - Throws: ``BodyError/Code/invalidRange`` if the range exceeds the file.
    package init(range: Range<Int64>, of source: SourceFile, contentType: String? = nil) throws(BodyError) {
        var list = SegmentList()
        list.append(try FileSlice(source, range: range))
        list.appendVerification()
        self.segments = list.finished()
        self.contentType = contentType
    }

    /// The number of bytes that are sent: the size of the file or of the range.
    public var length: Int64? { segments.length }
    /// Always `true`.
    public var isReplayable: Bool { true }

    /// The bytes in chunks, with the same checks as when they are sent: a change of the file is an error.
    public var chunks: AsyncValues<[UInt8], BodyError> { AsyncValues(of: self) }

    /// Creates the reader of one attempt. The file is opened at the first read.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, disk: disk, holdsBack: true, wake: wake)
    }

    /// Creates a reader of a range.
    public func makeReader(
        for range: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, range: range, disk: disk, holdsBack: true, wake: wake)
    }
}

extension FileBody: CustomStringConvertible {
    /// The path and the length.
    public var description: String {
        "file body of \(segments.knownLength) bytes from \(quoted(segments.sources.first?.path ?? ""))"
    }
}
