import FoundationEssentials
import HTTPTypes
import Logging
import Waybill

/// Everything that `waybill post` is going to do, checked and read, before the first connection.
struct PostPlan {
    let request: UploadRequest
    let form: MultipartForm
    let userAgent: String?
    /// Texts that must not be printed.
    let secrets: [String]
    let partCount: Int
    /// The images of the form.
    let images: ImageLog

    /// Checks and reads. `arguments` are the words of the command line, for the order of `-F` and `--form-string`.
    init(_ command: PostCommand, arguments: [String]) throws(CommandFailure) {
        let texts = try FormAssembly.arguments(command.form, inOrderOf: arguments)
        try EachPattern.refuse(in: texts)
        let images = ImageLog(command.output)
        try self.init(
            command, form: try FormAssembly(command.form, arguments: arguments, images: images), images: images)
    }

    /// Checks and reads all but the form, which was read before.
    init(_ command: PostCommand, form: FormAssembly, images: ImageLog) throws(CommandFailure) {
        self.images = images
        var fields = PostFields()
        for text in command.request.header { try fields.add(text) }
        var options = try Self.options(command)
        let waySecrets = try command.way.apply(to: &options.transfer)
        if let user = command.request.user {
            options.authentication = try fields.addCredentials(user, asDigest: command.request.digest)
        } else if command.request.digest {
            throw .usage("--digest needs -u user:password.")
        }
        if let expectContinue = fields.expectContinue { options.transfer.expectContinue = expectContinue }
        self.form = MultipartForm(form.parts)
        request = UploadRequest(
            try Self.method(command.request.method), command.url, headers: fields.headers,
            content: .form(self.form), options: options)
        userAgent = fields.isAnonymous ? nil : "waybill/\(WaybillCommand.version)"
        secrets = form.secrets + fields.secrets + waySecrets + (command.way.proxy.map(Self.userInformation) ?? [])
        partCount = form.parts.count
    }

    static func method(_ text: String) throws(CommandFailure) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(rawValue: text) else {
            throw .usage("-X: \"\(Redaction.escaped(text))\" is no method.")
        }
        guard !["HEAD", "CONNECT", "TRACE"].contains(text.uppercased()) else {
            throw .usage("-X: \(method) can't carry a form.")
        }
        return method
    }

    private static func options(_ command: PostCommand) throws(CommandFailure) -> UploadOptions {
        var options = UploadOptions()
        options.retry = try retry(command.limits) ?? RetryPolicy(maxRetries: 0)
        options.transfer.limits = try limits(command.limits.times)
        options.redirects = try command.way.redirects()
        if let rate = command.limits.times.rate {
            options.transfer.rateLimit = try SizeArgument.size(rate, for: "--limit-rate")
        }
        options.transfer.tls.insecureSkipVerification = command.request.insecure
        if let path = command.way.certificateAuthorities {
            // Read here, so that a wrong path is not told as a server that can't be trusted.
            _ = try InputFile.read(path, for: "--cacert")
            options.transfer.tls.certificateAuthorities = path
        }
        options.transfer.proxy = command.way.proxy
        for entry in command.way.resolve { try checkResolve(entry) }
        options.transfer.resolve = command.way.resolve
        return options
    }

    /// What `--retry` asks for, if it is there.
    static func retry(_ options: LimitOptions) throws(CommandFailure) -> RetryPolicy? {
        guard let retries = options.retries else { return nil }
        guard (0...1_000).contains(retries) else {
            throw .usage("--retry: \(retries) is no number of retries. Write 0 to 1000.")
        }
        return RetryPolicy(maxRetries: retries)
    }

    static func limits(_ options: TimeOptions) throws(CommandFailure) -> TransferLimits {
        var limits = TransferLimits()
        if let text = options.connect, let time = try SizeArgument.seconds(text, for: "--connect-timeout") {
            limits.connect = time
        }
        if let text = options.stall, let time = try SizeArgument.seconds(text, for: "--stall-timeout") {
            limits.stall = time
        }
        limits.total = try options.total.flatMap { (text) throws(CommandFailure) in
            try SizeArgument.seconds(text, for: "--max-time")
        }
        // Whoever gives the whole five minutes means that the answer may take as long.
        if let total = limits.total { limits.response = max(limits.response, total) }
        if let text = options.response, let time = try SizeArgument.seconds(text, for: "--response-timeout") {
            limits.response = time
        }
        if let text = options.responseBody { limits.responseBody = try SizeArgument.size(text, for: "--max-filesize") }
        return limits
    }

    static func checkResolve(_ entry: String) throws(CommandFailure) {
        let pieces = entry.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard pieces.count == 3, !pieces[0].isEmpty, let port = UInt16(pieces[1]), port > 0, !pieces[2].isEmpty else {
            throw .usage("--resolve takes host:port:address, as in backend.example:443:127.0.0.1.")
        }
    }

    /// User and password of a URL, which must not be printed.
    static func userInformation(of url: String) -> [String] {
        let authority = (url.components(separatedBy: "://").last ?? url).prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return [] }
        let user = String(authority[..<at])
        return [user] + user.split(separator: ":", maxSplits: 1).dropFirst().map(String.init)
    }
}

/// The header fields of `-H` and `-u`.
struct PostFields {
    private(set) var headers: HTTPFields = [:]
    private(set) var secrets: [String] = []
    /// What an `Expect` line asks for; the field itself belongs to the transport.
    private(set) var expectContinue: TransferOptions.ExpectContinue?
    /// Whether `User-Agent` is left out.
    private(set) var isAnonymous = false

    /// Takes in an argument of `-H`.
    mutating func add(_ argument: String) throws(CommandFailure) {
        guard argument.hasPrefix("@") else { return try addLine(argument) }
        let path = String(argument.dropFirst())
        for line in HeaderArgument.lines(of: try InputFile.read(path, for: "-H")) { try addLine(line) }
    }

    /// Adds credentials for Basic authentication (RFC 7617), unless `-H` has an `Authorization`.
    ///
    /// - Returns: What is left to the session: credentials for Digest (RFC 7616).
    @discardableResult
    mutating func addCredentials(_ user: String, asDigest: Bool = false) throws(CommandFailure) -> Authentication? {
        guard let colon = user.firstIndex(of: ":") else {
            throw .usage("-u takes user:password. To keep it out of ps, put an Authorization line into -H @file.")
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
                throw .usage("-H: Expect can be 100-continue, or be left out with 'Expect:'.")
            }
            expectContinue = .above(.bytes(0))
        case .field(let field):
            headers.append(field)
            secrets.append(field.value)
            // The credential behind "Bearer" stands alone in some messages.
            secrets += field.value.split(separator: " ", maxSplits: 1).dropFirst().map(String.init)
        case .removal(let name):
            switch name.canonicalName {
            case "expect": expectContinue = .never
            case "user-agent": isAnonymous = true
            case "accept", "content-type", "content-length", "host":
                throw .usage("-H: \(name) can't be left out.")
            default: headers[name] = nil
            }
        }
    }
}
