extension MultipartForm {
    /// Returns the form with all work done: contents produced, names and types final, parts in the order in which they
    /// are sent. It contains only text fields, bytes and files, so preparing it again yields the same bytes as long as
    /// the files do not change.
    ///
    /// - Throws: ``BodyError``; for a stream, which cannot be read again, ``BodyError/Code/bodyNotReplayable``.
    package func resolved() async throws(BodyError) -> MultipartForm {
        try limits?.check(partCount: parts.count)
        for (index, part) in parts.enumerated() {
            guard case .stream = part.content else { continue }
            throw BodyError(
                .bodyNotReplayable,
                "A stream cannot be stored. Write it to a file first and use that file.",
                at: PartLocation(index: index, name: part.name))
        }
        let resolver = PartResolver(form: self)
        var made: [MultipartPart] = []
        for index in parts.indices {
            let (part, content) = try await resolver.resolve(index)
            made.append(part.resolved(content))
        }
        var form = self
        form.parts = order.indices(of: made).map { made[$0] }
        form.order = .asGiven
        form.limits = nil
        return form
    }
}

extension MultipartPart {
    fileprivate func resolved(_ ready: ReadyContent) -> MultipartPart {
        let resolvedContent: PartContent =
            switch ready {
            case .bytes(let bytes) where content.isText: .rawText(bytes, isSecret: false)
            case .bytes(let bytes): .bytes(bytes)
            case .file(let slice): .file(path: slice.source.path, slice.range)
            // Rejected above.
            case .stream: content
            }
        var part = MultipartPart(name, fileName: fileName, contentType: contentType, content: resolvedContent)
        part.headers = headers
        return part
    }
}
