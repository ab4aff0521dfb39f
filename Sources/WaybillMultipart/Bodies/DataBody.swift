public import WaybillCore

/// Bytes from memory as the whole body of a request.
///
/// ```swift
/// let body = DataBody(Array("hello".utf8), contentType: "text/plain")
/// ```
public struct DataBody: UploadBody {
    /// The content type, if it was given.
    public let contentType: String?
    let segments: SegmentList

    /// Creates a body from bytes.
    public init(_ bytes: some Sequence<UInt8>, contentType: String? = nil) {
        var list = SegmentList()
        list.append(Array(bytes))
        self.segments = list.finished()
        self.contentType = contentType
    }

    /// The number of bytes.
    public var length: Int64? { segments.length }
    /// Always `true`.
    public var isReplayable: Bool { true }

    /// Creates the reader of one attempt. It never returns `BodyRead.later`.
    public func makeReader(wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, disk: DiskAccess(), holdsBack: false, wake: wake)
    }

    /// Creates a reader of a range. It never returns `BodyRead.later`.
    public func makeReader(
        for range: Range<Int64>, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) -> any BodyReader {
        try SegmentReader(segments, range: range, disk: DiskAccess(), holdsBack: false, wake: wake)
    }
}

extension DataBody: CustomStringConvertible, CustomReflectable {
    /// The length; never the bytes.
    public var description: String { "data body of \(segments.knownLength) bytes" }
    /// Only the description, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}
