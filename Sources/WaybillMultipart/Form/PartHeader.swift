import WaybillCore

/// Writes the beginning of a part: delimiter line, header lines, blank line.
///
/// The bytes follow the WHATWG algorithm (HTML, "multipart/form-data encoding algorithm"), which browsers, curl and
/// most libraries implement.
struct PartHeader {
    /// The maximum size of the header lines of a part. Parsers reject larger ones, too, many of them far smaller ones.
    static let maxHeaderBytes = 16 * 1_024

    let delimiter: PartDelimiter
    let compatibility: MultipartCompatibility

    /// Appends the beginning of a part, without `Content-Type` if that is `nil`.
    func append(
        _ part: MultipartPart, contentType: String?, to block: inout [UInt8], at location: PartLocation
    ) throws(BodyError) {
        block += delimiter.line
        let beginning = block.count
        block.append(text: "Content-Disposition: form-data; name=\"")
        try appendNames(part, to: &block, at: location)
        block += FormText.lineBreak
        if let contentType { try Self.append(contentType: contentType, to: &block, at: location) }
        for header in part.headers {
            try Self.check(header, at: location)
            Self.append(header.name, header.value, to: &block)
        }
        guard block.count - beginning <= Self.maxHeaderBytes else {
            throw BodyError(
                .headerTooLarge,
                "The header lines have \(block.count - beginning) bytes; the limit is \(Self.maxHeaderBytes). "
                    + "Shorten the names.", at: location)
        }
        if delimiter.occurs(in: block.span, from: beginning) {
            throw Self.containsBoundary("header lines", at: location)
        }
        block += FormText.lineBreak
    }

    private func appendNames(
        _ part: MultipartPart, to block: inout [UInt8], at location: PartLocation
    ) throws(BodyError) {
        guard !part.name.utf8.isEmpty || compatibility.allowsEmptyNames else {
            throw BodyError(
                .emptyFieldName, "The field name is missing. Use the name that the server expects.", at: location)
        }
        guard compatibility.append(name: part.name, to: &block) else {
            throw BodyError(.invalidFieldName, "The name contains a NUL. Remove it.", at: location)
        }
        block.append(UInt8(ascii: "\""))
        guard let fileName = part.fileName else { return }
        block.append(text: "; filename=\"")
        guard compatibility.append(fileName: fileName, to: &block) else {
            throw BodyError(
                .invalidFileName, "The file name contains a NUL. Remove it.", at: location)
        }
        block.append(UInt8(ascii: "\""))
        compatibility.appendExtended(fileName, to: &block)
    }

    private static func append(
        contentType: String, to block: inout [UInt8], at location: PartLocation
    ) throws(BodyError) {
        let start = block.count + "Content-Type: ".utf8.count
        append("Content-Type", contentType, to: &block)
        let end = block.count - FormText.lineBreak.count
        guard start < end, !block[start..<end].contains(where: FormText.isControl) else {
            throw BodyError(
                .invalidContentType,
                "Invalid content type \(quoted(contentType)). It must not be empty or contain control characters.",
                at: location)
        }
    }

    private static func append(_ name: String, _ value: String, to block: inout [UInt8]) {
        block.append(text: name)
        block.append(text: ": ")
        block.append(text: value)
        block += FormText.lineBreak
    }

    /// The error for a boundary that occurs in a part.
    static func containsBoundary(_ what: String, at location: PartLocation) -> BodyError {
        BodyError(
            .boundaryInContent,
            "The \(what) contain the boundary, at which a server would end the part. \(Remedy.makeRandomBoundary)",
            at: location)
    }

    private static func check(_ header: MultipartHeader, at location: PartLocation) throws(BodyError) {
        guard !header.name.utf8.isEmpty, header.name.utf8.allSatisfy(FormText.isToken) else {
            throw BodyError(.invalidHeader, "Invalid header name \(quoted(header.name)).", at: location)
        }
        guard !ownHeaders.contains(header.name.lowercased()) else {
            throw BodyError(
                .invalidHeader,
                "The header \(header.name) is not allowed in a part. Use the properties of the part.",
                at: location)
        }
        guard !header.value.utf8.contains(where: { FormText.isControl($0) && $0 != UInt8(ascii: "\t") }) else {
            throw BodyError(
                .invalidHeader, "The value of the header \(header.name) contains a control character.", at: location)
        }
    }

    // A length or transfer encoding in a part confuses some servers (RFC 7578 sections 4.7 and 4.8).
    private static let ownHeaders: Set<String> = [
        "content-disposition", "content-type", "content-length", "content-transfer-encoding", "transfer-encoding",
    ]
}

/// The bytes that separate the parts of a body.
struct PartDelimiter {
    /// The line before a part.
    let line: [UInt8]
    /// The line after the last part. It always ends in CRLF, because some servers wait for it.
    let closing: [UInt8]
    // Empty if contents need not be searched.
    private let needle: [UInt8]

    /// Creates the delimiter for a boundary. 128 random bits cannot occur in the body; the caller's boundary can.
    init(_ boundary: MultipartBoundary, mayOccur: Bool) {
        let text = boundary.description
        var line: [UInt8] = []
        line.reserveCapacity(text.utf8.count + 6)
        line.append(text: "--")
        line.append(text: text)
        var closing = line
        closing.append(text: "--\r\n")
        line.append(text: "\r\n")
        (self.line, self.closing) = (line, closing)
        needle = mayOccur ? Array(text.utf8) : []
    }

    /// Whether the boundary occurs in bytes between delimiters. The search is for the bare text, because some servers
    /// recognize a boundary without the line break before it.
    func occurs(in bytes: Span<UInt8>, from start: Int = 0) -> Bool {
        !needle.isEmpty && ByteSearch.find(needle, in: bytes, from: start) != nil
    }
}

/// A header line of a part.
public struct MultipartHeader: Sendable, Hashable {
    /// The name, as written.
    public var name: String
    /// The value, without surrounding whitespace.
    public var value: String

    /// Creates a header line.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// The value if the header is known not to carry a credential, else the placeholder: a header of a part may carry a
    /// credential just as one of the request.
    var printedValue: String { Self.harmless.contains(name.lowercased()) ? value : Secret.placeholder }

    private static let harmless: Set<String> = [
        "content-description", "content-disposition", "content-encoding", "content-id", "content-language",
        "content-location", "content-type", "date", "last-modified",
    ]
}

extension MultipartHeader: CustomStringConvertible, CustomReflectable {
    /// The header line. The value is shown only if the header is known not to carry a credential.
    public var description: String { "\(name): \(printedValue)" }
    /// Only the description, so that `dump` shows no more.
    public var customMirror: Mirror { Mirror(self, children: ["header": description]) }
}
