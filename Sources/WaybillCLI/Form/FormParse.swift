import Waybill

/// Reads a form, reports each part, and extracts files.
struct FormParse: Sendable {
    private let form: IncomingForm
    private let directory: String?
    private let output = JSONOutput(.standard)

    init(
        input: InputChunks, contentType: String, limits: MultipartLimits, directory: String?
    ) throws(CommandFailure) {
        do {
            form = try IncomingForm(input, contentType: contentType, limits: limits)
        } catch {
            throw CommandFailure.usage(error.message)
        }
        self.directory = directory
    }

    /// Parses the form and returns the error, if any.
    func run() async -> CommandFailure? {
        do {
            var directory: UploadDirectory?
            if let path = self.directory { directory = try await UploadDirectory(path: path) }
            var (parts, bytes) = (Int64(0), Int64(0))
            for try await part in form {
                let content = try await read(part, into: directory)
                let index: JSONObject = ["index": parts]
                try output.write("part", index + head(part) + content.members)
                parts += 1
                bytes += content.size
            }
            try output.write("form", ["parts": parts, "bytes": bytes])
            return nil
        } catch let failure as CommandFailure {
            return failure
        } catch let error as BodyError {
            return Self.failure(error)
        } catch {
            return CommandFailure(code: .fileNotReadable, exit: .source, message: "\(error)")
        }
    }

    private func head(_ part: IncomingPart) -> JSONObject {
        ["name": part.name, "fileName": part.fileName, "contentType": part.contentType]
    }

    private func read(
        _ part: IncomingPart, into directory: UploadDirectory?
    ) async throws -> (members: JSONObject, size: Int64) {
        if part.fileName == nil {
            let bytes = try await part.bytes(atMost: .bytes(.max))
            let size = Int64(bytes.count)
            // Bytes that are not UTF-8 have a size, but no value.
            let value = String(validating: bytes, as: UTF8.self)
            return (["bytes": size, "value": value], size)
        }
        if let directory {
            _ = try await part.collect(to: directory, naming: .suggested)
            // Each file is reported immediately, so keep it immediately.
            guard let file = try await form.keepFiles().last else { return ([:], 0) }
            return (["bytes": file.size, "path": file.path], file.size.bytes)
        }
        var size: Int64 = 0
        for try await chunk in part.chunks { size += Int64(chunk.count) }
        return (["bytes": size], size)
    }

    private static func failure(_ error: BodyError) -> CommandFailure {
        if error.code == .streamFailed, let cause = error.cause as? CommandFailure { return cause }
        let exit: Exit =
            switch error.code {
            case .cancelled: .signal(Interrupt.signal ?? 2)
            case .diskFull, .writeFailed: .fatal
            default: .source
            }
        return CommandFailure(
            code: CommandFailure.Code(error.code.description), exit: exit, message: "\(error.code): \(error.message)")
    }
}
