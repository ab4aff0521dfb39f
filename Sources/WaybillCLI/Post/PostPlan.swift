import FoundationEssentials
import HTTPTypes
import Waybill

/// The plan of `waybill post`, validated and with all its texts read before the first connection.
struct PostPlan {
    let request: UploadRequest
    let form: MultipartForm
    let userAgent: String?
    /// Strings that must not be printed.
    let secrets: [String]
    let partCount: Int
    /// The log of the form's images.
    let images: ImageLog

    /// Validates and reads. `arguments` are the words of the command line, for the order of `-F` and `--form-string`.
    init(_ command: PostCommand, arguments: [String]) throws(CommandFailure) {
        let texts = try FormAssembly.arguments(command.form, inOrderOf: arguments)
        try EachPattern.rejectPlaceholders(in: texts)
        let images = ImageLog(command.output)
        try self.init(
            command, form: try FormAssembly(command.form, arguments: arguments, images: images), images: images)
    }

    /// Validates and reads everything except the form, which was assembled before.
    init(_ command: PostCommand, form: FormAssembly, images: ImageLog) throws(CommandFailure) {
        self.images = images
        var fields = PostFields()
        for text in command.request.header { try fields.add(text) }
        var options = UploadOptions()
        options.retry = try command.limits.retry() ?? RetryPolicy(maxRetries: 0)
        options.resume = try command.request.resumeOptions()
        let networkSecrets = try command.network.apply(
            to: &options, command.limits.times, isInsecure: command.request.insecure)
        if let user = command.request.user {
            options.authentication = try fields.addCredentials(user, asDigest: command.request.digest)
        } else if command.request.digest {
            throw .usage("--digest requires -u user:password.")
        }
        if let expectContinue = fields.expectContinue { options.transfer.expectContinue = expectContinue }
        self.form = MultipartForm(form.parts)
        request = UploadRequest(
            try Self.method(command.request.method), command.url, headers: fields.headers,
            content: .form(self.form), options: options)
        userAgent = fields.omitsUserAgent ? nil : "waybill/\(WaybillCommand.version)"
        secrets = form.secrets + fields.secrets + networkSecrets
        partCount = form.parts.count
    }

    static func method(_ text: String) throws(CommandFailure) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(rawValue: text) else {
            throw .usage("-X: \(Redaction.quoted(text)) is not a valid method.")
        }
        guard !["HEAD", "CONNECT", "TRACE"].contains(text.uppercased()) else {
            throw .usage("-X: \(method) can't carry a form.")
        }
        return method
    }
}

/// The header fields of `-H` and `-u`.
struct PostFields {
    private(set) var headers: HTTPFields = [:]
    private(set) var secrets: [String] = []
    /// The setting from an `Expect` line; the transport sends the field itself.
    private(set) var expectContinue: TransferOptions.ExpectContinue?
    /// Whether `User-Agent` is omitted.
    private(set) var omitsUserAgent = false

    /// Adds an argument of `-H`.
    mutating func add(_ argument: String) throws(CommandFailure) {
        guard argument.hasPrefix("@") else { return try addLine(argument) }
        let path = String(argument.dropFirst())
        for line in HeaderArgument.lines(of: try InputFile.read(path, for: "-H")) { try addLine(line) }
    }

    /// Adds credentials for Basic authentication (RFC 7617), unless `-H` contains an `Authorization` field.
    ///
    /// - Returns: The credentials for Digest (RFC 7616), which the session uses.
    @discardableResult
    mutating func addCredentials(_ user: String, asDigest: Bool = false) throws(CommandFailure) -> Authentication? {
        guard let colon = user.firstIndex(of: ":") else {
            throw .usage(
                "-u must be user:password. To hide it from ps, put an Authorization line into a file and use -H @file.")
        }
        secrets += [user] + user.split(separator: ":", maxSplits: 1).dropFirst().map(String.init)
        guard headers[.authorization] == nil else { return nil }
        if asDigest {
            let password = String(user[user.index(after: colon)...])
            return .digest(user: String(user[..<colon]), password: .secret(password))
        }
        let credentials = Data(user.utf8).base64EncodedString()
        secrets.append(credentials)
        headers[.authorization] = "Basic \(credentials)"
        return nil
    }

    private mutating func addLine(_ line: String) throws(CommandFailure) {
        switch try HeaderArgument(line) {
        case .field(let field) where field.name.canonicalName == "expect":
            guard field.value.lowercased() == "100-continue" else {
                throw .usage("-H: Expect must be 100-continue. Omit it with 'Expect:'.")
            }
            expectContinue = .above(.bytes(0))
        case .field(let field):
            headers.append(field)
            secrets.append(field.value)
            // Some messages contain the credential without "Bearer".
            secrets += field.value.split(separator: " ", maxSplits: 1).dropFirst().map(String.init)
        case .removal(let name):
            switch name.canonicalName {
            case "expect": expectContinue = .never
            case "user-agent": omitsUserAgent = true
            case "accept", "content-type", "content-length", "host":
                throw .usage("-H: \(name) can't be omitted. Remove the option.")
            default: headers[name] = nil
            }
        }
    }
}
