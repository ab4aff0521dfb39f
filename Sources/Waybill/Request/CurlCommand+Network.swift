import WaybillCore
import WaybillMultipart

/// The curl options for the network settings of a transfer. Secrets are redacted.
struct CurlNetworkOptions {
    private(set) var lines: [String] = []
    /// Settings that curl has no option for.
    private(set) var remarks: [String] = []

    init(_ options: TransferOptions) {
        addProxy(options)
        for entry in options.resolve { add("--resolve", entry) }
        if let path = options.unixSocket { add("--unix-socket", path) }
        switch options.addressFamily {
        case .any: break
        case .ipv4: lines.append("-4")
        case .ipv6: lines.append("-6")
        }
        addTLS(options.tls, prefix: "--")
        if options.proxy != nil { addTLS(options.proxyTLS, prefix: "--proxy-") }
        if options.httpVersion == .http2 { lines.append("--http2") }
        if let rate = options.rateLimit { lines.append("--limit-rate \(rate.bytes)") }
        if !options.curlOptions.isEmpty {
            let names = options.curlOptions.map(\.name).joined(separator: ", ")
            remarks.append("This command does not include the libcurl options \(names).")
        }
    }

    private mutating func add(_ option: String, _ value: String) {
        lines.append("\(option) \(ShellWord.quoted(value))")
    }

    private mutating func addProxy(_ options: TransferOptions) {
        guard let proxy = options.proxy, !proxy.isEmpty else { return }
        add("-x", Redaction.url(proxy))
        if options.proxyCredential != nil { add("--proxy-user", Secret.placeholder) }
        if !options.proxyExceptions.isEmpty { add("--noproxy", options.proxyExceptions.joined(separator: ",")) }
    }

    private mutating func addTLS(_ tls: TransferOptions.TLSOptions, prefix: String) {
        if let path = tls.certificateAuthorities { add("\(prefix)cacert", path) }
        if tls.certificateAuthoritiesPEM != nil { addPlaceholder("\(prefix)cacert", "authorities") }
        if let client = tls.clientCertificate {
            add(client.certificate, as: "\(prefix)cert", "certificate")
            if client.format == .pkcs12 { lines.append("\(prefix)cert-type P12") }
            if let key = client.key { add(key, as: "\(prefix)key", "key") }
            if client.passphrase != nil { add("\(prefix)pass", Secret.placeholder) }
        }
        if !tls.pinnedKeys.isEmpty { add("\(prefix)pinnedpubkey", tls.pinnedKeys.joined(separator: ";")) }
        if tls.insecureSkipVerification { lines.append("\(prefix)insecure") }
    }

    private mutating func add(_ source: ClientCertificate.Source, as option: String, _ name: String) {
        switch source {
        case .file(let path): add(option, path)
        case .bytes: addPlaceholder(option, name)
        }
    }

    private mutating func addPlaceholder(_ option: String, _ name: String) {
        add(option, "<\(name)>")
        remarks.append("The value of \(option) exists only in memory. Replace <\(name)> with a file.")
    }
}

extension UploadSession {
    /// Returns a `curl` command that sends the same request as this session, including its base URL, header fields,
    /// common fields and options. See ``UploadRequest/curlCommand`` for its format and for what is redacted.
    ///
    /// Changes by interceptors and cookies are not included; a comment line says so. If common fields are created by a
    /// closure, the closure is called.
    public func curlCommand(for request: UploadRequest) -> String {
        let configuration = core.configuration
        var complete = request
        let options = request.options ?? configuration.options
        complete.options = options
        complete.url = (try? URLText.absolute(request.url, base: configuration.baseURL?.uploadURL)) ?? request.url
        if !options.excludedDefaults.contains(.headers) {
            for field in configuration.headers where request.headers[field.name] == nil {
                complete.headers.append(field)
            }
        }
        if complete.headers[.userAgent] == nil, !options.excludedDefaults.contains(.userAgent),
            let agent = configuration.userAgent
        {
            complete.headers[.userAgent] = agent
        }
        if case .form(let form) = request.content.kind, !options.excludedDefaults.contains(.commonFields) {
            complete.content = .form(configuration.commonFields?.prepended(to: form) ?? form)
        }
        var missing: [String] = []
        let names =
            (options.excludedDefaults.contains(.interceptors) ? [] : configuration.interceptors) + request.interceptors
        if !names.isEmpty { missing.append("interceptors (\(names.map(\.name).joined(separator: ", ")))") }
        if configuration.cookies != nil, !options.excludedDefaults.contains(.cookies) { missing.append("cookies") }
        let list = Redaction.escaped(missing.joined(separator: " and "))
        let remark = missing.isEmpty ? "" : "# This command does not include \(list).\n"
        return remark + complete.curlCommand
    }
}
