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
    /// query of the URL, ``UploadOptions/authentication``, values of header fields that may carry a credential (of parts,
    /// too), and texts marked secret are shown as `<redacted>`; other texts are shown. Of what only the session knows, its
    /// options for example, nothing is in it: that is ``UploadSession/curlCommand(for:)``.
    ///
    /// The words are quoted for bash, ksh and zsh, and for any POSIX shell if no control characters are in them.
    public var curlCommand: String {
        var remarks: [String] = []
        let way = options.map { CurlNetworkWords($0.transfer) }
        remarks += way?.remarks ?? []
        var lines = headers.map(Self.line) + credentials + (way?.lines ?? [])
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
            // A lone - is standard input to curl.
            lines += typeField(type) + ["--data-binary \(ShellWord.quoted("@\(path == "-" ? "./-" : path)"))"]
        case .body(let body):
            remarks.append("the content is a \(content): put a file in its place")
            lines += typeField(body.contentType) + ["--data-binary '@<body>'"]
        case .notAFile:
            remarks.append("what is to be sent is not named by a file URL")
            impliesPost = false
        }
        let shown = Redaction.url(url)
        // Braces and brackets would be a list of URLs to curl.
        let asItStands = shown.unicodeScalars.contains { "{}[]".unicodeScalars.contains($0) } ? "-g " : ""
        var start = "curl \(asItStands)\(ShellWord.quoted(shown))"
        if method != (impliesPost ? .post : .get) { start += " -X \(ShellWord.quoted(method.rawValue))" }
        let words = [start] + lines
        return remarks.map { "# \(Redaction.escaped($0))\n" }.joined() + words.joined(separator: " \\\n  ")
    }

    private static func line(_ field: HTTPField) -> String {
        // A field without a value is one without a colon to curl; "Name:" would take the field away.
        let text = field.value.utf8.isEmpty ? "\(field.name);" : "\(field.name): \(Redaction.value(of: field))"
        return "-H \(ShellWord.quoted(text))"
    }

    /// The options of curl for the credentials that are not in a header field.
    private var credentials: [String] {
        guard let options else { return [] }
        let user = "-u \(ShellWord.quoted(Secret.placeholder))"
        if options.authentication?.digest != nil || options.transfer.digest != nil { return ["--digest \(user)"] }
        guard let authentication = options.authentication else { return [] }
        // What is refused before it is sent has no scheme; curl is told of it all the same.
        let scheme = (try? authentication.fieldValue())?.prefix { $0 != " " }
        return scheme == "Basic" ? [user] : ["-H \(ShellWord.quoted("Authorization: \(Secret.placeholder)"))"]
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
