import HTTPTypes
import Waybill

extension PostPlan {
    /// Prints what would be sent. The body is prepared as for an upload.
    func dryRun(_ output: OutputOptions, _ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        var dryRun = DryRun(console: console, json: json, isSilent: output.silent)
        let made = try await DryRunForm(request, form, configuration(output: output, console: console))
        try dryRun.write(
            "request", made.request.members + made.members + images.members(), made.request.lines + made.lines)
        dryRun.count(made.length)
        return try dryRun.finish("send", "form")
    }
}

extension EachPlan {
    /// Prints what would be sent for each file.
    func dryRun(_ output: OutputOptions, _ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        var dryRun = DryRun(console: console, json: json, isSilent: output.silent)
        let configuration = configuration(output: output, console: console)
        let printed = dryRun
        var isFirst = true
        try await dryRun.forEach(files, name: \.self, failsEarly: options.failEarly) {
            index, file throws(CommandFailure) in
            let made = try await DryRunForm(try request(for: file), try form(for: file), configuration)
            if isFirst {
                // The content type and length differ between files.
                var request = made.request
                request.headers.removeAll { $0.name.lowercased().hasPrefix("content-") }
                try printed.write("request", request.members, request.lines)
                isFirst = false
            }
            let head: JSONObject = ["index": index, "file": file]
            try printed.write(
                "file", head + made.members + images.members(of: file), [file] + made.lines.map { "  \($0)" })
            return made.length
        }
        return try dryRun.finish()
    }
}

/// A form as it would be sent.
struct DryRunForm {
    let request: DryRunRequest
    let parts: [DryRunPart]
    /// The length of the body in bytes; `nil` if it would be chunked.
    let length: Int64?
    /// Whether a part comes from standard input or a pipe, which is not read.
    private let hasPipes: Bool

    /// Prepares the form, which replaces the content of the request.
    init(
        _ request: UploadRequest, _ form: MultipartForm, _ configuration: UploadSession.Configuration
    ) async throws(CommandFailure) {
        let (form, unread) = form.withoutPipes
        var upload = request
        upload.content = .form(form)
        let made: UploadDryRun
        do throws(UploadError) {
            made = try await UploadDryRun(upload, configuration)
        } catch {
            throw CommandFailure(error)
        }
        hasPipes = !unread.isEmpty
        length = hasPipes ? nil : made.body.map(\.length) ?? 0
        self.request = DryRunRequest(
            made.method, made.url, made.headers, upload.options ?? configuration.options)
        parts = ((made.body as? MultipartBody).map { DryRunPart.all(of: $0, images: made.images) } ?? [])
            .omittingSizes(of: unread)
    }

    /// The framing, and one line for each part.
    var lines: [String] {
        let framing = hasPipes ? "Content-Length: unknown until everything is read" : "Transfer-Encoding: chunked"
        return [length.map { "Content-Length: \($0)" } ?? framing] + parts.map(\.line)
    }

    var members: JSONObject {
        [
            "contentLength": length, "framing": length == nil && !hasPipes ? "chunked" : "length",
            "parts": parts,
        ]
    }
}
