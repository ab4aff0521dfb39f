import HTTPTypes
import WaybillCore
import WaybillMultipart

extension UploadRequest {
    /// A `curl` command that sends the same, for a report or a colleague. Secrets are redacted.
    ///
    /// ```text
    /// curl 'https://backend.example/upload' \
    ///   -H 'Authorization: <redacted>' \
    ///   --form-string 'TOKEN=<redacted>' \
    ///   -F 'FILE=@"front.jpg";type=image/jpeg;filename="IDFrontImage.jpg"'
    /// ```
    ///
    /// A shell can run it as it stands if nothing in it is redacted and all files are files. What curl can't be told is said
    /// in lines of comment above it: a picture that is made small first, bytes that only the program has. User, password and
    /// query of the URL, values of header fields that may carry a credential, and texts marked secret are shown as
    /// `<redacted>`; other texts are shown.
    ///
    /// The words are quoted for bash, ksh and zsh, and for any POSIX shell if no control characters are in them.
    public var curlCommand: String {
        var remarks: [String] = []
        var lines = headers.map { "-H \(ShellWord.quoted("\($0.name): \(Redaction.value(of: $0))"))" }
        var impliesPost = true
        switch content.kind {
        case .empty: impliesPost = false
        case .form(let form):
            if form.parts.isEmpty {
                remarks.append("the form is empty, and curl sends no such form")
                impliesPost = false
            }
            let arguments = form.curlArguments
            remarks += arguments.remarks
            lines += arguments.lines
        case .file(let path, let type):
            lines += typeField(type) + ["--data-binary \(ShellWord.quoted("@\(path)"))"]
        case .body(let body):
            remarks.append("the content is a \(content): put a file in its place")
            lines += typeField(body.contentType) + ["--data-binary '@<body>'"]
        case .notAFile:
            remarks.append("what is to be sent is not named by a file URL")
            impliesPost = false
        }
        var start = "curl \(ShellWord.quoted(Redaction.url(url)))"
        if method != (impliesPost ? .post : .get) { start += " -X \(ShellWord.quoted(method.rawValue))" }
        let words = [start] + lines
        return remarks.map { "# \(Redaction.escaped($0))\n" }.joined() + words.joined(separator: " \\\n  ")
    }

    private func typeField(_ type: String?) -> [String] {
        guard headers[.contentType] == nil else { return [] }
        // Without one, curl would say that it is a web form.
        return ["-H \(ShellWord.quoted("Content-Type:\(type.map { " \($0)" } ?? "")"))"]
    }
}

extension MultipartForm {
    /// A `curl` command that posts this form, as ``UploadRequest/curlCommand`` writes it.
    public func curlCommand(to location: some UploadLocation) -> String {
        UploadRequest(.post, location, content: .form(self)).curlCommand
    }
}
