import WaybillCore

// Synchronous preparation: most forms consist of a few text fields and a file that the kernel has cached. For those,
// changing threads takes longer than the work itself.

extension MultipartForm {
    /// Returns the same body as ``prepared(boundary:)`` without suspending. Can be called on any thread.
    ///
    /// - Returns: `nil` for a form that has to wait for something, runs code of the caller, is long, or contains an
    ///   error. Call ``prepared(boundary:)`` then, which does the work or throws.
    package func preparedSynchronously(boundary: MultipartBoundary? = nil) -> MultipartBody? {
        guard isShort(isSearched: boundary != nil) else { return nil }
        return try? prepareSynchronously(boundary)
    }

    private func prepareSynchronously(_ boundary: MultipartBoundary?) throws(BodyError) -> MultipartBody? {
        try limits?.check(partCount: parts.count)
        var builder = BodyBuilder(boundary: boundary, compatibility: compatibility)
        for index in order.indices(of: parts) {
            guard try builder.appendSynchronously(index, of: self) else { return nil }
        }
        let body = try builder.finish()
        try limits?.check(totalBytes: body.segments.knownLength)
        return body
    }

    /// Whether the form is small enough to be processed on a thread that must not be blocked. Texts are copied and
    /// converted; bytes are retained, but searched for a boundary of the caller.
    private func isShort(isSearched: Bool) -> Bool {
        guard parts.count <= 64 else { return false }
        var copied = 64 << 10
        var retained = 1 << 20
        for part in parts {
            guard let count = part.memoryByteCount else { return false }
            if part.content.isRetained, !isSearched {
                retained -= count
            } else {
                copied -= count
            }
            guard copied >= 0, retained >= 0 else { return false }
        }
        return true
    }
}

extension BodyBuilder {
    /// Appends a part of a form if its content is available without waiting.
    mutating func appendSynchronously(_ index: Int, of form: MultipartForm) throws(BodyError) -> Bool {
        let part = form.parts[index]
        let location = PartLocation(index: index, name: part.name)
        guard form.limits?.allowedTypes == nil, !part.followsContent,
            let content = part.synchronousContent(at: location)
        else {
            return false
        }
        if let count = content.count { try form.limits?.check(partBytes: count, at: location) }
        try append(
            part, contentType: part.contentType ?? part.typeFromName(form.contentTypes), content: content, at: location)
        try form.limits?.check(totalBytes: knownLength)
        return true
    }
}

extension PartContent {
    /// Whether the body keeps a reference to the bytes, so that their number does not determine the cost.
    fileprivate var isRetained: Bool {
        if case .bytes = self { true } else { false }
    }
}

extension MultipartPart {
    /// The number of its bytes that are in memory; `nil` for content that has to be produced.
    fileprivate var memoryByteCount: Int? {
        switch content {
        case .text(let text): text.utf8.count
        case .secret(let secret): secret.value.utf8.count
        case .bytes(let bytes), .rawText(let bytes, _): bytes.count
        case .file: 0
        case .stream, .encoding, .preparing, .refused: nil
        }
    }

    fileprivate func synchronousContent(at location: PartLocation) -> ReadyContent? {
        if let ready = content.ready { return ready }
        guard case .file(let path, let range) = content,
            let source = SourceFile(inspectingSynchronously: path, at: location)
        else {
            return nil
        }
        return (try? FileSlice(source, range: range)).map { .file($0) }
    }
}
