import CWaybillCurl
import Glibc
import WaybillCore

/// Validates the options for proxies, TLS and sockets before a connection is made.
///
/// Checks that files are readable without reading them: libcurl reads them when a connection needs them.
enum NetworkCheck {
    /// - Parameters:
    ///   - options: The options to check.
    ///   - origin: The origin of the server, as returned by ``RequestCheck``.
    /// - Throws: ``TransferError/Code/invalidRequest`` or ``TransferError/Code/invalidURL``, outcome `notSent`.
    static func check(_ options: TransferOptions, origin: String) throws(TransferError) {
        try checkProxy(options, origin: origin)
        try check(options.tls, "for the server")
        try check(options.proxyTLS, "for the proxy")
        if let path = options.unixSocket {
            guard !path.isEmpty, path.utf8.count <= 107, !path.utf8.contains(0) else {
                throw invalidRequest("The path of a Unix socket must have 1 to 107 bytes and no NUL (unix(7)).")
            }
            guard options.proxy == nil else {
                throw invalidRequest("A Unix socket and a proxy can't be combined. Remove one.")
            }
        }
        for option in options.curlOptions { _ = try CurlOptionCheck.number(of: option) }
    }

    // MARK: - Proxies

    private static let schemes: Set<String> = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    private static func checkProxy(_ options: TransferOptions, origin: String) throws(TransferError) {
        guard let proxy = options.proxy, !proxy.isEmpty else {
            guard options.proxyCredential == nil else {
                throw invalidRequest("Proxy credentials are set without a proxy. Set the proxy, too.")
            }
            return
        }
        guard let url = ParsedURL(proxy, flags: UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_DEFAULT_SCHEME)) else {
            throw invalidRequest("The proxy URL is invalid. Use scheme://host:port.")
        }
        let scheme = proxy.contains("://") ? url.scheme : "http"
        guard schemes.contains(scheme) else {
            throw invalidRequest(
                "The proxy scheme must be http, https, socks4, socks4a, socks5 or socks5h; got \"\(scheme)\".")
        }
        if scheme == "https", unsafe curl_version_info(wb_version_now).pointee.features & CURL_VERSION_HTTPS_PROXY == 0
        {
            throw invalidRequest(
                "The loaded libcurl does not support HTTPS proxies. Use an http proxy, or another libcurl.")
        }
        // The default of libcurl for proxies, if the scheme has none.
        let port = url.port.isEmpty ? (scheme == "https" ? "443" : "1080") : url.port
        guard !origin.hasSuffix("://\(url.host):\(port)") else {
            throw invalidRequest(
                "The proxy has the same host and port as the URL of the upload. Use another proxy, or none.")
        }
        if let credential = options.proxyCredential {
            guard url.user.isEmpty, url.password.isEmpty else {
                throw invalidRequest("Proxy credentials are set both in the proxy URL and separately. Remove one.")
            }
            let isHTTP = scheme.hasPrefix("http")
            guard isPlain(credential.user), isPlain(credential.password.value), !credential.user.isEmpty,
                !isHTTP || !credential.user.contains(":")
            else {
                throw invalidRequest(
                    "User and password of the proxy must not contain control characters. The user must not be empty, "
                        + "and for HTTP, it must not contain a colon.")
            }
        }
        for entry in options.proxyExceptions {
            guard !entry.isEmpty, entry.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ",") }) else {
                throw invalidRequest("A proxy exception must be one host, address or range, without commas and spaces.")
            }
        }
    }

    // MARK: - TLS

    private static func check(_ tls: TransferOptions.TLSOptions, _ peer: String) throws(TransferError) {
        if let path = tls.certificateAuthorities { try checkFile(path, "The certificate authorities \(peer)") }
        if let text = tls.certificateAuthoritiesPEM {
            guard tls.certificateAuthorities == nil else {
                throw invalidRequest(
                    "The certificate authorities \(peer) are set both as a file and in memory. Remove one.")
            }
            guard text.contains("-----BEGIN CERTIFICATE-----") else {
                throw invalidRequest(
                    "The certificate authorities \(peer) have no line -----BEGIN CERTIFICATE-----. Use PEM.")
            }
        }
        for pin in tls.pinnedKeys where !isPin(pin) {
            throw invalidRequest(
                "The pinned key \"\(pin)\" \(peer) is invalid. Use sha256// and the 44 characters of a hash in Base64.")
        }
        guard let client = tls.clientCertificate else { return }
        try check(client.certificate, client.format, "The client certificate \(peer)")
        if let key = client.key {
            guard client.format == .pem else {
                throw invalidRequest(
                    "The client certificate \(peer) is a PKCS #12 file, which contains the key. Remove the other key.")
            }
            try check(key, .pem, "The client key \(peer)")
        }
        guard client.passphrase?.value.utf8.contains(0) != true else {
            throw invalidRequest("The passphrase of the client key \(peer) must not contain a NUL.")
        }
    }

    private static func check(
        _ source: ClientCertificate.Source, _ format: ClientCertificate.Format, _ name: String
    ) throws(TransferError) {
        switch source {
        case .file(let path): try checkFile(path, name)
        case .bytes(let bytes):
            let marker = Array("-----BEGIN ".utf8)
            guard !bytes.isEmpty, format != .pem || bytes.firstRange(of: marker) != nil else {
                throw invalidRequest(
                    "\(name) is empty or not PEM (\(bytes.count) bytes). PEM has a line -----BEGIN …-----.")
            }
        }
    }

    private static func checkFile(_ path: String, _ name: String) throws(TransferError) {
        var status = stat()
        guard !path.isEmpty, !path.utf8.contains(0), unsafe stat(path, &status) == 0, unsafe access(path, R_OK) == 0,
            status.st_mode & S_IFMT != S_IFDIR
        else {
            throw invalidRequest(
                "\(name): the file \"\(path)\" can't be read. Check the path and its permissions.")
        }
    }

    private static func isPin(_ text: String) -> Bool {
        guard text.hasPrefix("sha256//") else { return false }
        let digits = Array(text.utf8.dropFirst(8))
        guard digits.count == 44, digits.last == UInt8(ascii: "=") else { return false }
        return digits.dropLast().allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || "+/".utf8.contains($0)
        }
    }

    private static func isPlain(_ text: String) -> Bool { !text.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

    private static func invalidRequest(_ message: String) -> TransferError {
        TransferError(.invalidRequest, message, outcome: .notSent)
    }
}

/// A URL as parsed by libcurl (`curl_url_set(3)`).
struct ParsedURL {
    let scheme: String
    /// The host in lower case.
    let host: String
    /// The port; empty if the URL has none and the scheme has no default.
    let port: String
    let user: String
    let password: String

    init?(_ text: String, flags: UInt32) {
        guard !text.utf8.contains(0), let url = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(url) }
        guard unsafe curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
        scheme = unsafe Self.part(CURLUPART_SCHEME, of: url)
        host = unsafe Self.part(CURLUPART_HOST, of: url).lowercased()
        port = unsafe Self.part(CURLUPART_PORT, of: url)
        user = unsafe Self.part(CURLUPART_USER, of: url)
        password = unsafe Self.part(CURLUPART_PASSWORD, of: url)
        guard !host.isEmpty else { return nil }
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return "" }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}
