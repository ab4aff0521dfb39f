import ArgumentParser
import FoundationEssentials
import Waybill

/// A group of options that may not apply to every call.
protocol OptionTable {
    /// All options of the group by their long names, with the short name used in messages and whether it is given.
    static var table: Table { get }

    typealias Table = [(name: String, letter: Character?, isGiven: @Sendable (Self) -> Bool)]
}

extension OptionTable {
    /// The long names.
    static var names: [String] { table.map(\.name) }

    /// The name of the first given option, as used in messages.
    var firstGiven: String? {
        Self.table.first { $0.isGiven(self) }.map { $0.letter.map { "-\($0)" } ?? "--\($0.name)" }
    }
}

/// Network options: proxies, TLS, addresses, redirects. They have the same letters as in curl, if curl has them.
struct NetworkOptions: ParsableArguments, OptionTable {
    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust only the certificate authorities in this PEM file.", valueName: "file"),
        completion: .file())
    var certificateAuthorities: String?

    @Option(
        name: [.customShort("x", allowingJoined: true), .customLong("proxy")],
        help: ArgumentHelp("Use this proxy. Proxies from the environment are not used.", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("resolve"),
        help: ArgumentHelp("Use this address instead of resolving the name.", valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(
        name: [.customShort("U", allowingJoined: true), .customLong("proxy-user")], parsing: .unconditional,
        help: ArgumentHelp(
            "Credentials for the proxy, or env:NAME to read them from the environment.", valueName: "user:password"))
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp("Hosts to connect to without the proxy.", valueName: "host,host"))
    var proxyExceptions: String?

    @Option(
        name: [.customShort("E", allowingJoined: true), .customLong("cert")],
        help: ArgumentHelp("Present this client certificate to the server.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("cert-type"),
        help: ArgumentHelp("PEM, or P12 for a PKCS #12 file that contains the key.", valueName: "type"))
    var certificateType = "PEM"

    @Option(
        name: .customLong("key"),
        help: ArgumentHelp("The private key of --cert, if it is in a separate file.", valueName: "file"),
        completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"), parsing: .unconditional,
        help: ArgumentHelp(
            "The passphrase of the key, or env:NAME to read it from the environment.", valueName: "passphrase"))
    var passphrase: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        help: ArgumentHelp("Accepted hashes of the server's public key.", valueName: "sha256//…;…"))
    var pins: String?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 only.")
    var isIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 only.")
    var isIPv6 = false

    @Option(
        name: .customLong("unix-socket"),
        help: ArgumentHelp("Connect to this Unix socket instead of the URL's host.", valueName: "path"),
        completion: .file())
    var unixSocket: String?

    @Flag(name: .customLong("http2"), help: "Use HTTP/2 if the server offers it over TLS.")
    var isHTTP2 = false

    @Option(
        name: .customLong("redirect"),
        help: ArgumentHelp(
            "After 301 and 302: resend the body, or get the response from the new URL. Default: an error. stop follows "
                + "no redirect, not even 303, 307 and 308.", valueName: "resend|get|stop"))
    var redirect: String?

    @Flag(
        name: .customLong("location-trusted"),
        help: "Send credentials, all headers and the client certificate to other origins after a redirect.")
    var isLocationTrusted = false

    static let table: Table = [
        ("cacert", nil, { $0.certificateAuthorities != nil }), ("proxy", "x", { $0.proxy != nil }),
        ("resolve", nil, { !$0.resolve.isEmpty }), ("proxy-user", "U", { $0.proxyUser != nil }),
        ("noproxy", nil, { $0.proxyExceptions != nil }), ("cert", "E", { $0.certificate != nil }),
        ("cert-type", nil, { $0.certificateType != "PEM" }), ("key", nil, { $0.key != nil }),
        ("pass", nil, { $0.passphrase != nil }), ("pinnedpubkey", nil, { $0.pins != nil }),
        ("ipv4", "4", { $0.isIPv4 }), ("ipv6", "6", { $0.isIPv6 }), ("unix-socket", nil, { $0.unixSocket != nil }),
        ("http2", nil, { $0.isHTTP2 }), ("redirect", nil, { $0.redirect != nil }),
        ("location-trusted", nil, { $0.isLocationTrusted }),
    ]

    private func redirectPolicy() throws(CommandFailure) -> RedirectPolicy {
        switch redirect {
        case nil: return .standard
        case "resend": return .resend
        case "get": return .asGET
        case "stop": return .returned
        case let other?: throw .usage("--redirect must be resend, get or stop; got \(Redaction.quoted(other)).")
        }
    }

    /// Applies the options and the limits of an attempt. Reads files, so that a wrong path is not reported as a failed
    /// certificate verification.
    ///
    /// - Returns: Strings that must not be printed.
    func apply(to options: inout UploadOptions, _ times: TimeOptions, isInsecure: Bool) throws(CommandFailure)
        -> [String]
    {
        options.transfer.limits = try times.limits()
        options.redirects = try redirectPolicy()
        options.redirects.keepsCredentials = isLocationTrusted
        options.transfer.rateLimit = try times.rateLimit()
        options.transfer.tls.insecureSkipVerification = isInsecure
        if let path = certificateAuthorities {
            _ = try InputFile.read(path, for: "--cacert")
            options.transfer.tls.certificateAuthorities = path
        }
        options.transfer.proxy = proxy
        for entry in resolve { try Self.checkResolve(entry) }
        options.transfer.resolve = resolve
        return try apply(to: &options.transfer) + (proxy.map(UserInformation.secrets) ?? [])
    }

    private func apply(to options: inout TransferOptions) throws(CommandFailure) -> [String] {
        guard !(isIPv4 && isIPv6) else { throw .usage("-4 and -6 can't be combined. Leave one out.") }
        var secrets: [String] = []
        if let text = try proxyUser.map({ (text) throws(CommandFailure) in try Self.value(text, for: "-U") }) {
            guard let colon = text.firstIndex(of: ":") else { throw .usage("-U must be user:password or env:NAME.") }
            let password = String(text[text.index(after: colon)...])
            options.proxyCredential = ProxyCredential(user: String(text[..<colon]), password: .secret(password))
            secrets += [text, password]
        }
        options.proxyExceptions = (proxyExceptions ?? "").split(separator: ",").map {
            String($0.drop { $0 == " " })
        }
        secrets += try applyCertificate(to: &options)
        options.tls.pinnedKeys = (pins ?? "").split(separator: ";").map(String.init)
        if isIPv4 { options.addressFamily = .ipv4 }
        if isIPv6 { options.addressFamily = .ipv6 }
        options.unixSocket = unixSocket
        if isHTTP2 { options.httpVersion = .http2 }
        return secrets
    }

    private func applyCertificate(to options: inout TransferOptions) throws(CommandFailure) -> [String] {
        let passphrase = try passphrase.map { (text) throws(CommandFailure) in try Self.value(text, for: "--pass") }
        if let certificate {
            guard let format = ["PEM": ClientCertificate.Format.pem, "P12": .pkcs12][certificateType.uppercased()]
            else {
                throw .usage("--cert-type must be PEM or P12.")
            }
            _ = try InputFile.read(certificate, for: "--cert")
            if let key { _ = try InputFile.read(key, for: "--key") }
            options.tls.clientCertificate = ClientCertificate(
                .file(certificate), key: key.map { .file($0) }, format: format,
                passphrase: passphrase.map { .secret($0) })
        } else if key != nil || passphrase != nil {
            throw .usage("--key and --pass require --cert. Add --cert, or leave them out.")
        }
        return passphrase.map { [$0] } ?? []
    }

    private static func checkResolve(_ entry: String) throws(CommandFailure) {
        let pieces = entry.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard pieces.count == 3, !pieces[0].isEmpty, let port = UInt16(pieces[1]), port > 0, !pieces[2].isEmpty else {
            throw .usage("--resolve must be host:port:address, as in backend.example:443:127.0.0.1.")
        }
    }

    /// Returns the value, or the environment variable that it names: arguments can be read by every user with ps.
    private static func value(_ text: String, for option: String) throws(CommandFailure) -> String {
        guard text.hasPrefix("env:") else { return text }
        let name = String(text.dropFirst(4))
        guard let value = Environment.value(of: name) else {
            throw .usage("\(option): the environment variable \(name) is not set. Set it first.")
        }
        return value
    }
}

/// Limits and the number of retries.
struct LimitOptions: ParsableArguments {
    @OptionGroup var times: TimeOptions

    @Option(
        name: .customLong("retry"),
        help: ArgumentHelp(
            "The maximum number of retries, if the server can't have acted or after 408, 429, 5xx. "
                + "Default: 0; 3 with put.",
            valueName: "number"))
    var retries: Int?

    /// Returns the retry policy that `--retry` sets, if it is given.
    func retry() throws(CommandFailure) -> RetryPolicy? {
        guard let retries else { return nil }
        guard (0...1_000).contains(retries) else {
            throw .usage("--retry must be between 0 and 1000; got \(retries).")
        }
        return RetryPolicy(maxRetries: retries)
    }
}

/// The limits of an attempt.
struct TimeOptions: ParsableArguments, OptionTable {
    @Option(
        name: .customLong("limit-rate"),
        help: ArgumentHelp(
            "The maximum rate in bytes per second, as in 200K, shared by all uploads.",
            valueName: "size"))
    var rate: String?

    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp("The maximum time to connect. Default: 15.", valueName: "seconds"))
    var connect: String?

    @Option(
        name: .customLong("stall-timeout"),
        help: ArgumentHelp("The maximum time without progress while sending. Default: 15.", valueName: "seconds"))
    var stall: String?

    @Option(
        name: .customLong("response-timeout"),
        help: ArgumentHelp(
            "The maximum wait for the response after everything is sent. Default: 60, or -m if it is longer.",
            valueName: "seconds"))
    var response: String?

    @Option(
        name: .customLong("max-filesize"),
        help: ArgumentHelp("The maximum size of the response. Default: 10MiB.", valueName: "size"))
    var responseBody: String?

    @Option(
        name: [.customShort("m", allowingJoined: true), .customLong("max-time")],
        help: ArgumentHelp("The maximum time of an attempt. Default: no limit.", valueName: "seconds"))
    var total: String?

    static let table: Table = [
        ("limit-rate", nil, { $0.rate != nil }), ("connect-timeout", nil, { $0.connect != nil }),
        ("stall-timeout", nil, { $0.stall != nil }), ("response-timeout", nil, { $0.response != nil }),
        ("max-time", "m", { $0.total != nil }), ("max-filesize", nil, { $0.responseBody != nil }),
    ]

    func rateLimit() throws(CommandFailure) -> ByteCount? {
        try rate.map { (text) throws(CommandFailure) in try SizeArgument.size(text, for: "--limit-rate") }
    }

    func limits() throws(CommandFailure) -> TransferLimits {
        var limits = TransferLimits()
        limits.connect = try Self.seconds(connect, for: "--connect-timeout") ?? limits.connect
        limits.stall = try Self.seconds(stall, for: "--stall-timeout") ?? limits.stall
        limits.total = try Self.seconds(total, for: "--max-time")
        // With `-m 5m`, the response may take as long as the whole attempt.
        if let total = limits.total { limits.response = max(limits.response, total) }
        limits.response = try Self.seconds(response, for: "--response-timeout") ?? limits.response
        if let responseBody { limits.responseBody = try SizeArgument.size(responseBody, for: "--max-filesize") }
        return limits
    }

    private static func seconds(_ text: String?, for option: String) throws(CommandFailure) -> Duration? {
        guard let text else { return nil }
        return try SizeArgument.seconds(text, for: option)
    }
}

/// The user name and password of a URL.
enum UserInformation {
    /// Returns the strings in a URL that must not be printed.
    static func secrets(of url: String) -> [String] {
        let authority = (url.components(separatedBy: "://").last ?? url).prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return [] }
        let user = String(authority[..<at])
        return [user] + user.split(separator: ":", maxSplits: 1).dropFirst().map(String.init)
    }
}
