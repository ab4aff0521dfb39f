import WaybillCore

/// Writes a form as a list of segments.
struct BodyBuilder {
    private let boundary: MultipartBoundary
    private let needle: [UInt8]
    private var list = SegmentList()
    private var parts: [BodyPart] = []

    init(boundary: MultipartBoundary) {
        self.boundary = boundary
        self.needle = Array(boundary.description.utf8)
    }

    mutating func append(_ part: MultipartPart, content: ReadyContent, at place: PartPlace) throws(BodyError) {
        let header = try PartHeader(
            part, contentType: part.effectiveContentType(of: content), boundary: boundary, at: place)
        list.append(header.bytes)
        let start = list.length
        switch content {
        case .bytes(let bytes):
            // Some servers look for the bare text of the boundary, without the line break before it.
            guard ByteSearch.find(needle, in: bytes) == nil else {
                throw PartHeader.containsBoundary("contents", at: place)
            }
            list.append(bytes)
        case .file(let source):
            list.append(source)
        }
        parts.append(BodyPart(name: part.name, fileName: part.fileName, range: start..<list.length))
        list.append(FormText.lineBreak)
    }

    /// Adds the check of all files and the closing line. The line always ends in CRLF: some servers wait for it.
    consuming func finish() -> MultipartBody {
        list.appendVerification()
        list.append(Array("--\(boundary)--\r\n".utf8))
        return MultipartBody(boundary: boundary, segments: list.finished(), parts: parts)
    }
}
