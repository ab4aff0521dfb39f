import ArgumentParser
import Glibc
import Waybill

/// The way to the server: proxies, TLS, addresses. With curl's letters where it has them.
struct WayOptions: ParsableArguments {
    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust the authorities in this PEM file only.", valueName: "file"), completion: .file())
    var certificateAuthorities: String?

    @Option(
        name: [.customShort("x", allowingJoined: true), .customLong("proxy")],
        help: ArgumentHelp("A proxy. Those of the environment are not used.", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("resolve"),
        help: ArgumentHelp("Use this address in place of a name look-up.", valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(
        name: [.customShort("U", allowingJoined: true), .customLong("proxy-user")], parsing: .unconditional,
        help: ArgumentHelp(
            "Credentials for the proxy, or env:NAME to read them from there.", valueName: "user:password"))
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp("Hosts that are spoken to without the proxy.", valueName: "host,host"))
    var proxyExceptions: String?

    @Option(
        name: [.customShort("E", allowingJoined: true), .customLong("cert")],
        help: ArgumentHelp("Show this certificate to the server.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("cert-type"), help: ArgumentHelp("PEM, or P12 for a store with its key.", valueName: "type"))
    var certificateType = "PEM"

    @Option(
        name: .customLong("key"),
        help: ArgumentHelp("The key of --cert, if it is in a file of its own.", valueName: "file"), completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"), parsing: .unconditional,
        help: ArgumentHelp("What the key is encrypted with, or env:NAME.", valueName: "passphrase"))
    var passphrase: String?

    @Option(
        name: .customLong("pinnedpubkey"),
        help: ArgumentHelp("Hashes of public keys, one of which must be the server's.", valueName: "sha256//…;…"))
    var pins: String?

    @Flag(name: [.customShort("4"), .customLong("ipv4")], help: "Use IPv4 only.")
    var isIPv4 = false

    @Flag(name: [.customShort("6"), .customLong("ipv6")], help: "Use IPv6 only.")
    var isIPv6 = false

    @Option(
        name: .customLong("unix-socket"),
        help: ArgumentHelp("Connect to this Unix socket in place of the URL's host.", valueName: "path"),
        completion: .file())
    var unixSocket: String?

    @Flag(name: .customLong("http2"), help: "Speak HTTP/2 where the server offers it over TLS.")
    var isHTTP2 = false

    @Option(
        name: .customLong("redirect"),
        help: ArgumentHelp(
            "After 301 and 302: resend the body there, or get the response from there; an error unless set. stop follows "
                + "no redirect, not even 303, 307 and 308.", valueName: "resend|get|stop"))
    var redirect: String?

    @Flag(
        name: .customLong("location-trusted"),
        help: "If a redirect leads to another origin, send credentials, all headers and the client certificate there.")
    var isLocationTrusted = false

    /// What is done about redirects.
    func redirects() throws(CommandFailure) -> RedirectPolicy {
        var policy = try redirectPolicy()
        policy.keepsCredentials = isLocationTrusted
        return policy
    }

    private func redirectPolicy() throws(CommandFailure) -> RedirectPolicy {
        switch redirect {
        case nil: return .standard
        case "resend": return .resend
        case "get": return .asGET
        case "stop": return .returned
        case let other?: throw .usage("--redirect: \"\(Redaction.escaped(other))\" is not resend, get or stop.")
        }
    }

    /// Sets what was asked for.
    ///
    /// - Returns: Texts that must not be printed.
    func apply(to options: inout TransferOptions) throws(CommandFailure) -> [String] {
        guard !(isIPv4 && isIPv6) else { throw .usage("-4 and -6 exclude each other.") }
        var secrets: [String] = []
        if let text = try proxyUser.map({ (text) throws(CommandFailure) in try Self.value(text, for: "-U") }) {
            guard let colon = text.firstIndex(of: ":") else { throw .usage("-U takes user:password, or env:NAME.") }
            let password = String(text[text.index(after: colon)...])
            options.proxyCredential = ProxyCredential(user: String(text[..<colon]), password: .secret(password))
            secrets += [text, password]
        }
        options.proxyExceptions = (proxyExceptions ?? "").split(separator: ",").map {
            String($0.drop { $0 == " " })
        }
        let passphrase = try passphrase.map { (text) throws(CommandFailure) in try Self.value(text, for: "--pass") }
        secrets += passphrase.map { [$0] } ?? []
        if let certificate {
            guard let format = ["PEM": ClientCertificate.Format.pem, "P12": .pkcs12][certificateType.uppercased()]
            else {
                throw .usage("--cert-type is PEM or P12.")
            }
            _ = try InputFile.read(certificate, for: "--cert")
            if let key { _ = try InputFile.read(key, for: "--key") }
            options.tls.clientCertificate = ClientCertificate(
                .file(certificate), key: key.map { .file($0) }, format: format,
                passphrase: passphrase.map { .secret($0) })
        } else if key != nil || passphrase != nil {
            throw .usage("--key and --pass need --cert.")
        }
        options.tls.pinnedKeys = (pins ?? "").split(separator: ";").map(String.init)
        if isIPv4 { options.addressFamily = .ipv4 }
        if isIPv6 { options.addressFamily = .ipv6 }
        options.unixSocket = unixSocket
        if isHTTP2 { options.httpVersion = .http2 }
        return secrets
    }

    /// The text, or what the environment has for it: arguments can be read by everybody with ps.
    private static func value(_ text: String, for option: String) throws(CommandFailure) -> String {
        guard text.hasPrefix("env:") else { return text }
        let name = String(text.dropFirst(4))
        guard let value = unsafe getenv(name) else { throw .usage("\(option): the environment has no \(name).") }
        return unsafe String(cString: value)
    }
}
