/// The parts of a form that is being received, in order of arrival.
///
/// ```swift
/// let form = try IncomingForm(request.body, contentType: request.contentType)
/// let folder = try await UploadDirectory(path: "/var/lib/cards")
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
/// The body is read only on demand: as long as no chunk of a part is requested, nothing is read, and the sender waits.
/// Requesting the next part skips the rest of the current one, subject to the same limits. The loop ends after the last
/// byte of the body. It throws ``BodyError``: an error of ``MultipartParser``, or ``BodyError/Code/streamFailed`` if
/// the body throws. After an error, every further read throws the same error.
///
/// The form can be iterated once, by one reader at a time: parts and contents are read from the same body.
///
/// Memory: the header lines of a part, the boundary, 32 KiB, and one chunk of the body.
public struct IncomingForm: AsyncSequence, Sendable {
    let source: PartSource

    /// Creates a form from a body and the `Content-Type` of its request.
    ///
    /// - Throws: ``BodyError/Code/notMultipart``, ``BodyError/Code/invalidBoundary``.
    public init<Body: AsyncSequence & Sendable>(
        _ body: Body, contentType: String, limits: MultipartLimits = MultipartLimits()
    ) throws(BodyError) where Body.Element: Sequence<UInt8> {
        let parser = try MultipartParser(contentType: contentType, limits: limits)
        source = PartSource(parser: parser, limits: limits, input: SequenceInput(body))
    }

    /// Returns an iterator that continues with the next part.
    public func makeAsyncIterator() -> AsyncValues<IncomingPart, BodyError>.Iterator {
        AsyncValues { [source] in { () async throws(BodyError) in try await source.nextPart() } }.makeAsyncIterator()
    }
}

extension MultipartParser {
    /// Reads a whole body and passes its parts to a handler: for programs that prefer callbacks to a loop.
    ///
    /// ```swift
    /// var counter = FieldCounter()
    /// try await MultipartParser.read(request.body, contentType: request.contentType, to: &counter)
    /// ```
    ///
    /// The next chunk is requested when the handler has processed the last one.
    ///
    /// - Throws: ``BodyError``, and errors of the handler or the body.
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
