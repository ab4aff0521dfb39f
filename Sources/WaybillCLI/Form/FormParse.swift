import Waybill

/// Reads a form, tells of each part, and puts files where they are wanted.
struct FormParse: Sendable {
    private let form: IncomingForm
    private let folder: String?
    private let output = JSONOutput(.standard)

    init(
        input: InputChunks, contentType: String, limits: MultipartLimits, folder: String?
    ) throws(CommandFailure) {
        do {
            form = try IncomingForm(input, contentType: contentType, limits: limits)
        } catch {
            throw CommandFailure.usage(error.message)
        }
        self.folder = folder
    }

    /// Does it; answers with what went wrong.
    func run() async -> CommandFailure? {
        do {
            var folder: UploadFolder?
            if let path = self.folder { folder = try await UploadFolder(path: path) }
            var (parts, bytes) = (Int64(0), Int64(0))
            for try await part in form {
                let content = try await read(part, into: folder)
                try output.write("part", [JSONMember("index", .int(parts))] + head(part) + content.members)
                parts += 1
                bytes += content.size
            }
            try output.write("form", [JSONMember("parts", .int(parts)), JSONMember("bytes", .int(bytes))])
            return nil
        } catch let failure as CommandFailure {
            return failure
        } catch let error as BodyError {
            return Self.failure(error)
        } catch {
            return CommandFailure(code: .fileNotReadable, exit: .source, message: "\(error)")
        }
    }

    private func head(_ part: IncomingPart) -> [JSONMember] {
        [
            JSONMember("name", .string(part.name)), JSONMember("fileName", .string(orNull: part.fileName)),
            JSONMember("contentType", .string(orNull: part.contentType)),
        ]
    }

    private func read(
        _ part: IncomingPart, into folder: UploadFolder?
    ) async throws -> (members: [JSONMember], size: Int64) {
        if part.fileName == nil {
            let bytes = try await part.bytes(atMost: .bytes(.max))
            let size = Int64(bytes.count)
            // What is no text is not made one: its size has to do.
            let value = String(validating: bytes, as: UTF8.self)
            return ([JSONMember("bytes", .int(size)), JSONMember("value", .string(orNull: value))], size)
        }
        if let folder {
            _ = try await part.collect(to: folder, naming: .suggested)
            // Each file is reported immediately, so each is kept immediately.
            guard let file = try await form.keepFiles().last else { return ([], 0) }
            let members = [JSONMember("bytes", .int(file.size.bytes)), JSONMember("path", .string(file.path))]
            return (members, file.size.bytes)
        }
        var size: Int64 = 0
        for try await chunk in part.chunks { size += Int64(chunk.count) }
        return ([JSONMember("bytes", .int(size))], size)
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
