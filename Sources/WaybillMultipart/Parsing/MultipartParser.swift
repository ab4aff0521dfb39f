import WaybillCore

/// Reads a `multipart/form-data` body that comes in pieces of any size.
///
/// It is fed, and calls a handler; it never reads, waits, or keeps content: what it holds back is less than a delimiter
/// and its line, whatever the pieces are. However a body is cut, the handler sees the same parts with the same bytes, or
/// the same error.
///
/// ```swift
/// var parser = try MultipartParser(contentType: request.headers["Content-Type"])
/// var upload = UploadToDisk()
/// while let chunk = try await request.body.next() { try parser.feed(chunk.span, to: &upload) }
/// try parser.finish()
/// ```
///
/// Strict where servers disagree: lines end in CRLF, a boundary counts only at the start of a line, a name, a file name
/// and a `Content-Disposition` may stand once in a part, a body without its closing boundary is an error. `filename*` is
/// ignored, `%22`, `%0D` and `%0A` in quotes are decoded, as the WHATWG algorithm writes them.
///
/// - Complexity: linear in the bytes fed, for every cut. Memory: header lines of one part plus the boundary.
public struct MultipartParser: Sendable {
    let limits: MultipartLimits
    let totalLimit: Int64
    /// CRLF, two dashes, boundary. CR stands nowhere else in it, which is what makes a cheap search exact.
    let delimiter: [UInt8]

    var state = State.preamble
    /// How much of a delimiter the input ended with; these bytes are known and therefore not kept.
    var matched: Int
    /// How many of the matched bytes never were in the input.
    var imagined: Int
    /// The bytes of a delimiter's line after the boundary, until it shows whether they are such a line at all.
    var tail: [UInt8] = []
    var header = HeaderBlock()
    var partCount = 0
    var preambleCount = 0
    var partBytes: Int64 = 0
    var totalBytes: Int64 = 0
    var isField = false
    var failure: (any Error)?

    /// Where in a body the parser is.
    enum State: Sendable {
        /// Before the first boundary.
        case preamble
        /// After a boundary, on its line. `isFirst`: what came before was the preamble.
        case delimiterLine(isFirst: Bool)
        /// In the header lines of a part.
        case header
        /// In the content of a part.
        case content
        /// After the closing boundary, on its line.
        case closingLine
        /// After that line; nothing counts any more.
        case epilogue
    }

    /// Makes a parser for the boundary of a form that was made here.
    public init(boundary: MultipartBoundary, limits: MultipartLimits = MultipartLimits()) {
        self.init(checked: boundary.description, limits: limits)
    }

    /// Makes a parser for a boundary from outside: 1–70 of the characters that RFC 2046 section 5.1.1 lists, some more
    /// than ``MultipartBoundary`` allows.
    ///
    /// - Throws: ``BodyError/Code/invalidBoundary``.
    public init(boundary: String, limits: MultipartLimits = MultipartLimits()) throws(BodyError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(Self.isBoundaryCharacter),
            boundary.utf8.last != UInt8(ascii: " ")
        else {
            throw BodyError(
                .invalidBoundary, "\(quoted(boundary)) is no boundary: RFC 2046 allows 1 to 70 of its characters.")
        }
        self.init(checked: boundary, limits: limits)
    }

    /// Makes a parser for the body of a request with this `Content-Type`.
    ///
    /// - Throws: ``BodyError/Code/notMultipart`` when it is not `multipart/form-data` with one boundary,
    ///   ``BodyError/Code/invalidBoundary``.
    public init(contentType: String, limits: MultipartLimits = MultipartLimits()) throws(BodyError) {
        guard let header = HeaderParameters(Array(contentType.utf8)[...]), header.value == "multipart/form-data" else {
            throw BodyError(
                .notMultipart, "\(quoted(contentType)) is not multipart/form-data. Look at the request's Content-Type.")
        }
        let boundaries = header.parameters.filter { $0.name == "boundary" }
        guard boundaries.count == 1 else {
            throw BodyError(.notMultipart, "\(quoted(contentType)) has \(boundaries.count) boundaries instead of one.")
        }
        try self.init(boundary: String(decoding: boundaries[0].value, as: UTF8.self), limits: limits)
    }

    private init(checked boundary: String, limits: MultipartLimits) {
        self.limits = limits
        totalLimit = max(0, limits.total?.bytes ?? .max)
        self.delimiter = Array("\r\n--\(boundary)".utf8)
        // As if a line had just ended: a boundary may be the first thing in a body.
        self.matched = 2
        self.imagined = 2
        tail.reserveCapacity(min(max(0, limits.paddingBytes), 256) + 2)
    }

    /// How many bytes are held back: taken in, and neither handed out nor known to be headers yet.
    package var heldBack: Int { max(0, matched - imagined) + tail.count }

    /// Takes the next bytes of the body and calls the handler for what they complete.
    ///
    /// - Throws: ``BodyError`` for a body that breaks the grammar or a limit; whatever the handler throws. After an error
    ///   the parser stays failed and throws it again.
    public mutating func feed(_ bytes: Span<UInt8>, to handler: inout some MultipartHandler) throws {
        if let failure { throw failure }
        do {
            try parse(bytes, to: &handler)
        } catch {
            failure = error
            throw error
        }
    }

    /// Says that the body is over.
    ///
    /// - Throws: ``BodyError/Code/truncatedBody`` when the closing boundary is missing; an earlier error again.
    public mutating func finish() throws {
        if let failure { throw failure }
        failure = BodyError(.parserFinished, "The parser was used after its end. Make a new one for the next body.")
        switch state {
        case .closingLine, .epilogue: return
        case .preamble, .delimiterLine, .header, .content:
            throw BodyError(
                .truncatedBody,
                "The body ended after \(totalBytes) bytes, before its closing boundary. The sender broke off, or the "
                    + "boundary is another one.")
        }
    }

    private static func isBoundaryCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "'()+_,-./:=? ".utf8.contains(byte)
        }
    }
}
