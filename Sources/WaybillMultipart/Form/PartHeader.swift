/// The grammar of one part's beginning: delimiter line, header lines, blank line.
///
/// The bytes are those of the WHATWG algorithm (HTML, "multipart/form-data encoding algorithm"), which browsers, curl
/// and most libraries agree on.
struct PartHeader {
    /// A larger block of header lines is refused; parsers refuse it too, many of them far earlier.
    static let largestBlock = 16 * 1_024

    /// Everything before the content.
    let bytes: [UInt8]

    /// Writes the beginning of a part, without a `Content-Type` if that is `nil`.
    init(
        _ part: MultipartPart, contentType: String?, boundary: MultipartBoundary,
        compatibility: MultipartCompatibility, at place: PartPlace
    ) throws(BodyError) {
        try Self.check(part, contentType: contentType, at: place)
        let delimiter = Array(boundary.description.utf8)
        var block: [UInt8] = []
        block.reserveCapacity(192 + part.name.utf8.count + (part.fileName?.utf8.count ?? 0))
        block += "--".utf8
        block += delimiter
        block += FormText.lineBreak
        let beginning = block.count
        block += "Content-Disposition: form-data; name=\"".utf8
        compatibility.appendEscaped(FormText.withNormalLineBreaks(part.name), to: &block)
        block.append(UInt8(ascii: "\""))
        if let fileName = part.fileName {
            block += "; filename=\"".utf8
            compatibility.appendEscaped(Array(fileName.utf8), to: &block)
            block.append(UInt8(ascii: "\""))
            compatibility.appendExtended(fileName, to: &block)
        }
        block += FormText.lineBreak
        if let contentType { Self.append("Content-Type", contentType, to: &block) }
        for header in part.headers { Self.append(header.name, header.value, to: &block) }
        guard block.count - beginning <= Self.largestBlock else {
            throw BodyError(
                .headerTooLarge,
                "its header lines have \(block.count - beginning) bytes; \(Self.largestBlock) are allowed. "
                    + "Shorten the names.", at: place)
        }
        if ByteSearch.find(delimiter, in: block.span, from: beginning) != nil {
            throw Self.containsBoundary("header lines", at: place)
        }
        block += FormText.lineBreak
        bytes = block
    }

    private static func append(_ name: String, _ value: String, to block: inout [UInt8]) {
        block += name.utf8
        block += ": ".utf8
        block += value.utf8
        block += FormText.lineBreak
    }

    /// The error for a boundary that occurs where it must not.
    static func containsBoundary(_ what: String, at place: PartPlace) -> BodyError {
        BodyError(
            .boundaryInContent,
            "its \(what) contain the boundary, and a server would cut the part there. Use MultipartBoundary.random().",
            at: place)
    }

    private static func check(_ part: MultipartPart, contentType: String?, at place: PartPlace) throws(BodyError) {
        guard !part.name.utf8.isEmpty else {
            throw BodyError(.emptyFieldName, "it has no name. Give it the field name the server expects.", at: place)
        }
        guard !part.name.utf8.contains(0) else {
            throw BodyError(.invalidFieldName, "its name contains a NUL, where some servers would cut it.", at: place)
        }
        if let fileName = part.fileName, fileName.utf8.contains(0) {
            throw BodyError(
                .invalidFileName, "its file name contains a NUL, where some servers would cut it.", at: place)
        }
        if let contentType, contentType.utf8.isEmpty || contentType.utf8.contains(where: FormText.isControl) {
            throw BodyError(
                .invalidContentType,
                "\(quoted(contentType)) can't be its content type: it is empty or contains a control character.",
                at: place)
        }
        for header in part.headers { try check(header, at: place) }
    }

    private static func check(_ header: MultipartHeader, at place: PartPlace) throws(BodyError) {
        guard !header.name.utf8.isEmpty, header.name.utf8.allSatisfy(FormText.isToken) else {
            throw BodyError(.invalidHeader, "\(quoted(header.name)) can't be the name of a header.", at: place)
        }
        guard !ownHeaders.contains(header.name.lowercased()) else {
            throw BodyError(
                .invalidHeader,
                "the header \(header.name) is written by the form, or harms it. Use the properties of the part.",
                at: place)
        }
        guard !header.value.utf8.contains(where: { FormText.isControl($0) && $0 != UInt8(ascii: "\t") }) else {
            throw BodyError(
                .invalidHeader, "the value of its header \(header.name) contains a control character.", at: place)
        }
    }

    // A length or transfer encoding in a part makes some servers stumble (RFC 7578 sections 4.7 and 4.8).
    private static let ownHeaders: Set<String> = [
        "content-disposition", "content-type", "content-length", "content-transfer-encoding", "transfer-encoding",
    ]
}
