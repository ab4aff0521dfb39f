import WaybillCore

/// The content of a part when all work on it is done.
enum ReadyContent {
    case bytes([UInt8])
    case file(SourceFile)
}

extension MultipartPart {
    /// Makes the content, and the part with the names that fit it.
    func resolved(at place: PartPlace) async throws(BodyError) -> (MultipartPart, ReadyContent) {
        switch content {
        case .text(let text): return (self, .bytes(FormText.withNormalLineBreaks(text)))
        case .secret(let secret): return (self, .bytes(FormText.withNormalLineBreaks(secret.value)))
        case .bytes(let bytes), .rawText(let bytes, _): return (self, .bytes(bytes))
        case .file(let path): return (self, .file(try await Self.inspect(path, at: place)))
        case .encoding(let encode):
            do {
                return (self, .bytes(try encode()))
            } catch {
                throw BodyError(.encodingFailed, "its value can't be encoded as JSON.", at: place, cause: error)
            }
        case .preparing(let preparation):
            return try await resolved(preparation, at: place)
        case .refused(let code, let message):
            throw BodyError(code, message, at: place)
        }
    }

    private func resolved(
        _ preparation: any PartPreparing, at place: PartPlace
    ) async throws(BodyError) -> (MultipartPart, ReadyContent) {
        let made: PreparedPart
        do {
            made = try await preparation.prepare()
        } catch is CancellationError {
            throw BodyError.taskCancelled
        } catch {
            throw BodyError(.preparationFailed, "its content can't be made: \(error)", at: place, cause: error)
        }
        var part = self
        part.contentType = made.contentType ?? contentType
        part.fileName = made.fileName ?? fileName
        switch made.content {
        case .bytes(let bytes): return (part, .bytes(bytes))
        case .file(let path): return (part, .file(try await Self.inspect(path, at: place)))
        }
    }

    private static func inspect(_ path: String, at place: PartPlace) async throws(BodyError) -> SourceFile {
        // On the pool: opening may wait for a disk or a network, and a task must not keep others waiting.
        try await ReaderPool.shared.run { () throws(BodyError) in try SourceFile(inspecting: path, at: place) }
    }

    /// The type to send, or `nil` for none: said, else told by the file name, else unknown; texts need none.
    func effectiveContentType(of content: ReadyContent) -> String? {
        if let contentType { return contentType }
        if let fileName { return ContentTypes.forFile(named: fileName) ?? ContentTypes.unknown }
        switch self.content {
        case .text, .secret, .rawText: return nil
        default: return ContentTypes.unknown
        }
    }
}
