import HTTPTypes
import Waybill

extension PostPlan {
    /// Tells what would be sent, with the body made as it would be.
    func rehearse(_ output: OutputOptions, _ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit
    {
        var rehearsal = Rehearsal(console: console, json: json, isSilent: output.silent)
        let made = try await RehearsedForm(request, form, configuration(output: output, console: console))
        try rehearsal.tell(
            "request", made.request.members + made.members + images.members(), made.request.lines + made.lines)
        rehearsal.count(made.length)
        return try rehearsal.finish("send", "form")
    }
}

extension EachPlan {
    /// Tells what would be sent for each file.
    func rehearse(_ output: OutputOptions, _ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit
    {
        var rehearsal = Rehearsal(console: console, json: json, isSilent: output.silent)
        let configuration = configuration(output: output, console: console)
        var isFirst = true
        for (index, file) in files.enumerated() {
            do throws(CommandFailure) {
                let made = try await RehearsedForm(
                    try request(for: file), try form(for: file), configuration)
                if isFirst {
                    // Type and length belong to each.
                    var request = made.request
                    request.headers.removeAll { $0.name.lowercased().hasPrefix("content-") }
                    try rehearsal.tell("request", request.members, request.lines)
                    isFirst = false
                }
                let head = [JSONMember("index", .int(Int64(index))), JSONMember("file", .string(file))]
                let members = head + made.members + images.members(of: file)
                try rehearsal.tell("file", members, [file] + made.lines.map { "  \($0)" })
                rehearsal.count(made.length)
            } catch {
                guard error.code != .writeFailed else { throw error }
                try rehearsal.fail(index, file, error)
                if options.failEarly { break }
            }
        }
        return try rehearsal.finish()
    }
}

/// A form as it would go out.
struct RehearsedForm {
    let request: RehearsedRequest
    let parts: [RehearsedPart]
    /// All bytes of the body; `nil` where it would go chunked.
    let length: Int64?
    /// Whether a part comes from standard input or a pipe, which is not read.
    private let hasPipes: Bool

    /// Makes the form in place of the content of the request.
    init(
        _ request: UploadRequest, _ form: MultipartForm, _ configuration: UploadSession.Configuration
    ) async throws(CommandFailure) {
        let (form, unread) = form.withoutPipes
        var upload = request
        upload.content = .form(form)
        let made: UploadRehearsal
        do throws(UploadError) {
            made = try await UploadRehearsal(upload, configuration)
        } catch {
            throw CommandFailure(error)
        }
        hasPipes = !unread.isEmpty
        length = hasPipes ? nil : made.body.map(\.length) ?? 0
        self.request = RehearsedRequest(
            made.method, made.url, made.headers, upload.options ?? configuration.options)
        parts = ((made.body as? MultipartBody).map { RehearsedPart.all(of: $0, images: made.images) } ?? [])
            .leavingOut(unread)
    }

    /// The framing, and a line for each part.
    var lines: [String] {
        let framing = hasPipes ? "Content-Length: not known before all is read" : "Transfer-Encoding: chunked"
        return [length.map { "Content-Length: \($0)" } ?? framing] + parts.map(\.line)
    }

    var members: [JSONMember] {
        [
            JSONMember("contentLength", .int(orNull: length)),
            JSONMember("framing", .string(length == nil && !hasPipes ? "chunked" : "length")),
            JSONMember("parts", .array(parts.map(\.value))),
        ]
    }
}
