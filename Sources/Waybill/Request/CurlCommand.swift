import HTTPTypes
import WaybillCore
import WaybillMultipart

extension UploadRequest {
    /// A `curl` command that sends the same request, for bug reports. Secrets are redacted.
    ///
    /// ```text
    /// curl 'https://backend.example/upload' \
    ///   -H 'Authorization: <redacted>' \
    ///   --form-string 'TOKEN=<redacted>' \
    ///   -F 'FILE=@"front.jpg";type=image/jpeg;filename="IDFrontImage.jpg"'
    /// ```
    ///
    /// A shell can run the command unchanged if nothing is redacted and all contents are files. Comment lines above it
    /// describe what curl can't do: compress an image first, or send bytes that exist only in memory. User, password
    /// and query of the URL, ``UploadOptions/authentication``, values of header fields that may contain a credential
    /// (including those of parts), and texts marked secret are shown as `<redacted>`; other texts are shown. The
    /// command does not include the session's configuration, such as its options. For that, use
    /// ``UploadSession/curlCommand(for:)``.
    ///
    /// Arguments are quoted for bash, ksh and zsh, and, unless they contain control characters, for any POSIX shell.
    public var curlCommand: String {
        var remarks: [String] = []
        let network = options.map { CurlNetworkOptions($0.transfer) }
        remarks += network?.remarks ?? []
        var lines = headers.map(Self.line) + credentials + (network?.lines ?? [])
        var impliesPost = true
        switch content.kind {
        case .empty: impliesPost = false
        case .form(let form):
            if form.parts.isEmpty {
                remarks.append("The form is empty, which curl can't send.")
                impliesPost = false
            }
            let arguments = form.curlArguments
            remarks += arguments.remarks
            lines += arguments.lines
        case .file(let path, let type):
            // curl reads a lone "-" as standard input.
            lines += typeField(type) + ["--data-binary \(ShellWord.quoted("@\(path == "-" ? "./-" : path)"))"]
        case .body(let body):
            remarks.append("The content is a \(content). Replace <body> with a file.")
            lines += typeField(body.contentType) + ["--data-binary '@<body>'"]
        case .notAFile:
            remarks.append("The URL of the content is not a file URL.")
            impliesPost = false
        }
        let shown = Redaction.url(url)
        // curl would expand braces and brackets as URL globs.
        let globOff = shown.unicodeScalars.contains { "{}[]".unicodeScalars.contains($0) } ? "-g " : ""
        var start = "curl \(globOff)\(ShellWord.quoted(shown))"
        if method != (impliesPost ? .post : .get) { start += " -X \(ShellWord.quoted(method.rawValue))" }
        let words = [start] + lines
        return remarks.map { "# \(Redaction.escaped($0))\n" }.joined() + words.joined(separator: " \\\n  ")
    }

    private static func line(_ field: HTTPField) -> String {
        // curl sends a field without a value if it ends in a semicolon; "Name:" would remove the field.
        let text = field.value.utf8.isEmpty ? "\(field.name);" : "\(field.name): \(Redaction.value(of: field))"
        return "-H \(ShellWord.quoted(text))"
    }

    /// The curl options for credentials that are not in a header field.
    private var credentials: [String] {
        guard let options else { return [] }
        let user = "-u \(ShellWord.quoted(Secret.placeholder))"
        if options.authentication?.digest != nil || options.transfer.digest != nil { return ["--digest \(user)"] }
        guard let authentication = options.authentication else { return [] }
        // Credentials that would be rejected before sending have no scheme. They are included in the command
        // nevertheless.
        let scheme = (try? authentication.fieldValue())?.prefix { $0 != " " }
        return scheme == "Basic" ? [user] : ["-H \(ShellWord.quoted("Authorization: \(Secret.placeholder)"))"]
    }

    private func typeField(_ type: String?) -> [String] {
        guard headers[.contentType] == nil else { return [] }
        // Without a content type, curl would send that of a URL-encoded form.
        return ["-H \(ShellWord.quoted("Content-Type:\(type.map { " \($0)" } ?? "")"))"]
    }
}

extension MultipartForm {
    /// Returns a `curl` command that posts this form, in the format of ``UploadRequest/curlCommand``.
    public func curlCommand(to location: some UploadLocation) -> String {
        UploadRequest(.post, location, content: .form(self)).curlCommand
    }
}
