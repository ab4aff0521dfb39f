/// The parts of a form that is being received, in the order in which they come.
///
/// ```swift
/// let form = try IncomingForm(request.body, contentType: request.contentType)
/// let folder = try await UploadFolder(path: "/var/lib/cards")
/// for try await part in form {
///     switch part.name {
///     case "front": _ = try await part.collect(to: folder)
///     case "BUSINESSNO": number = try await part.text()
///     default: break                              // read over, under the same limits
///     }
/// }
/// let files = try await form.keepFiles()          // without this, they are removed with the form
/// ```
///
/// The body is read no further than somebody asks: while nobody takes the next chunk of a part, nothing is read, and the
/// sender waits. A part that is left before its end is read over when the next one is asked for; every limit counts
/// there, too. The loop ends after the last byte of the body. It throws ``BodyError``: what ``MultipartParser`` refuses,
/// or ``BodyError/Code/streamFailed`` when the body throws. Once it has thrown, it throws the same again.
///
/// One pass and one reader at a time: the parts and their contents come off the same body.
///
/// Memory: the header lines of a part, the boundary, and 32 KiB, plus one chunk of the body.
public struct IncomingForm: AsyncSequence, Sendable {
    let source: PartSource

    /// Reads a body with the `Content-Type` of its request.
    ///
    /// - Throws: ``BodyError/Code/notMultipart``, ``BodyError/Code/invalidBoundary``.
    public init<Body: AsyncSequence & Sendable>(
        _ body: Body, contentType: String, limits: MultipartLimits = MultipartLimits()
    ) throws(BodyError) where Body.Element: Sequence<UInt8> {
        let parser = try MultipartParser(contentType: contentType, limits: limits)
        source = PartSource(parser: parser, limits: limits, input: SequenceInput(body))
    }

    /// Begins or continues the pass over the parts.
    public func makeAsyncIterator() -> AsyncValues<IncomingPart, BodyError>.Iterator {
        AsyncValues { [source] in { () async throws(BodyError) in try await source.nextPart() } }.makeAsyncIterator()
    }
}

extension MultipartParser {
    /// Reads a whole body and calls a handler for what is in it: for programs that want calls instead of a loop.
    ///
    /// ```swift
    /// var counter = FieldCounter()
    /// try await MultipartParser.read(request.body, contentType: request.contentType, to: &counter)
    /// ```
    ///
    /// The next chunk is asked for when the handler is done with the last one.
    ///
    /// - Throws: ``BodyError``, what the handler throws, what the body throws.
    public static func read<Body: AsyncSequence>(
        _ body: Body, contentType: String, limits: MultipartLimits = MultipartLimits(),
        to handler: inout some MultipartHandler
    ) async throws where Body.Element: Sequence<UInt8> {
        var parser = try MultipartParser(contentType: contentType, limits: limits)
        for try await chunk in body {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            try parser.feed(Array(chunk).span, to: &handler)
        }
        try parser.finish()
    }
}
