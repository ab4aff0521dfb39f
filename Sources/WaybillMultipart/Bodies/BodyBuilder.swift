import WaybillCore

/// Builds a form as a list of segments.
struct BodyBuilder {
    private let boundary: MultipartBoundary
    private let header: PartHeader
    private var list = SegmentList()
    private var layout: [BodyPart] = []
    private var knownRangeCount = 0

    /// Creates a builder with the caller's boundary, or else with a new one.
    init(boundary: MultipartBoundary?, compatibility: MultipartCompatibility) {
        self.boundary = boundary ?? .random()
        header = PartHeader(
            delimiter: PartDelimiter(self.boundary, mayOccur: boundary != nil), compatibility: compatibility)
    }

    /// The number of bytes so far, without streams of unknown length.
    var knownLength: Int64 { list.knownLength }

    /// Appends a part with the given content type.
    mutating func append(
        _ part: MultipartPart, contentType: String?, content: ReadyContent, at location: PartLocation
    ) throws(BodyError) {
        let header = header
        try list.write { block throws(BodyError) in
            try header.append(part, contentType: contentType, to: &block, at: location)
        }
        let start = list.knownLength
        switch content {
        case .bytes(let bytes):
            guard !header.delimiter.occurs(in: bytes.span) else {
                throw PartHeader.containsBoundary("contents", at: location)
            }
            list.append(bytes)
        case .file(let slice): list.append(slice)
        case .stream(let stream): list.append(stream)
        }
        layout.append(BodyPart(name: part.name, fileName: part.fileName, range: start..<list.knownLength))
        if list.length != nil { knownRangeCount = layout.count }
        list.append(FormText.lineBreak)
        try checkLength()
    }

    /// Appends the check of all files and the closing delimiter.
    consuming func finish() throws(BodyError) -> MultipartBody {
        list.appendVerification()
        list.append(header.delimiter.closing)
        try checkLength()
        return MultipartBody(
            boundary: boundary, segments: list.finished(), layout: layout, knownRangeCount: knownRangeCount)
    }

    private func checkLength() throws(BodyError) {
        if list.isTooLong { throw FormLimits.lengthOverflow }
    }
}
