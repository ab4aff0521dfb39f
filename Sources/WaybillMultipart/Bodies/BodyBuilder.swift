import WaybillCore

/// Writes a form as a list of segments.
struct BodyBuilder {
    private let boundary: MultipartBoundary
    private let compatibility: MultipartCompatibility
    private let needle: [UInt8]
    private var list = SegmentList()
    private var layout: [BodyPart] = []
    private var placedCount = 0

    init(boundary: MultipartBoundary, compatibility: MultipartCompatibility) {
        self.boundary = boundary
        self.compatibility = compatibility
        self.needle = Array(boundary.description.utf8)
    }

    /// The bytes so far, apart from those of streams of unknown length.
    var knownLength: Int64 { list.knownLength }

    mutating func append(_ part: MultipartPart, content: ReadyContent, at place: PartPlace) throws(BodyError) {
        let header = try PartHeader(
            part, contentType: part.contentType, boundary: boundary, compatibility: compatibility, at: place)
        list.append(header.bytes)
        let start = list.knownLength
        switch content {
        case .bytes(let bytes):
            // Some servers look for the bare text of the boundary, without the line break before it.
            guard ByteSearch.find(needle, in: bytes) == nil else {
                throw PartHeader.containsBoundary("contents", at: place)
            }
            list.append(bytes)
        case .file(let slice): list.append(slice)
        case .stream(let stream): list.append(stream)
        }
        layout.append(BodyPart(name: part.name, fileName: part.fileName, range: start..<list.knownLength))
        if list.length != nil { placedCount = layout.count }
        list.append(FormText.lineBreak)
        try checkLength()
    }

    /// Adds the check of all files and the closing line. The line always ends in CRLF: some servers wait for it.
    consuming func finish() throws(BodyError) -> MultipartBody {
        list.appendVerification()
        list.append(Array("--\(boundary)--\r\n".utf8))
        try checkLength()
        return MultipartBody(
            boundary: boundary, segments: list.finished(), layout: layout, placedCount: placedCount)
    }

    private func checkLength() throws(BodyError) {
        if list.isTooLong { throw FormLimits.beyondNumbers }
    }
}
