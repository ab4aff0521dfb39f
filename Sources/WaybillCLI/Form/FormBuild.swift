import Waybill

/// Produces the bytes of a form and writes them in chunks.
struct FormBuild: Sendable {
    /// The destination of the bytes.
    enum Target: Sendable {
        case standardOutput
        case file(path: String, replaces: Bool)
        /// A readable preview on standard output instead of the bytes.
        case preview
    }

    let form: MultipartForm
    let boundary: String?

    /// Builds the form and returns the error, if any.
    func run(into target: Target) async -> CommandFailure? {
        do {
            // Opened before the work, which may take seconds, so that an invalid path fails immediately.
            var file: OutputFile?
            if case .file(let path, let replaces) = target { file = try OutputFile(path, replaces: replaces) }
            let boundary = try boundary.map { (text) throws(BodyError) in try MultipartBoundary(text) }
            let body = try await form.prepared(boundary: boundary ?? .random())
            try await write(body, to: target, file)
            return nil
        } catch let failure as CommandFailure {
            return failure
        } catch {
            return Self.failure(error)
        }
    }

    private func write(_ body: MultipartBody, to target: Target, _ file: OutputFile?) async throws {
        switch target {
        case .preview: try StandardOutput.write(body.preview())
        case .standardOutput:
            printHeader(of: body)
            for try await chunk in body.chunks { try StandardOutput.write(chunk) }
        case .file:
            for try await chunk in body.chunks { try file?.append(chunk) }
            try file?.commit()
            printHeader(of: body)
        }
    }

    private func printHeader(of body: MultipartBody) {
        if let type = body.contentType { Console.standard.line("Content-Type: \(type)") }
        if let length = body.contentLength { Console.standard.line("Content-Length: \(length)") }
    }

    /// Converts an error of the body in the same way as a session: it uses the innermost error that explains the cause.
    private static func failure(_ error: any Error) -> CommandFailure {
        let error = UploadError(preparing: error)
        return CommandFailure(
            code: CommandFailure.Code(error.code.description), exit: Exit(error, signal: Interrupt.signal),
            message: "\(error.code): \(error.message)")
    }
}
