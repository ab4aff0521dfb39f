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
