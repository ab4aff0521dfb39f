import CWaybillCurl
import WaybillCore

extension EasyHandle {
    /// Sets the network options: proxy, addresses, socket, TLS.
    func configureNetwork(_ options: TransferOptions) {
        set(CURLOPT_PROXY, options.proxy ?? "")
        set(CURLOPT_NOPROXY, options.proxyExceptions.joined(separator: ","))
        if let credential = options.proxyCredential {
            set(CURLOPT_PROXYUSERNAME, credential.user)
            set(CURLOPT_PROXYPASSWORD, credential.password.value)
        }
        set(CURLOPT_IPRESOLVE, Self.addressFamily(options.addressFamily))
        if let path = options.unixSocket { set(CURLOPT_UNIX_SOCKET_PATH, path) }
        configureTLS(options.tls, .server)
        configureTLS(options.proxyTLS, .proxy)
    }

    private static func addressFamily(_ family: TransferOptions.AddressFamily) -> Int {
        switch family {
        case .any: wb_ipresolve_any
        case .ipv4: wb_ipresolve_v4
        case .ipv6: wb_ipresolve_v6
        }
    }

    private func configureTLS(_ tls: TransferOptions.TLSOptions, _ peer: TLSOptionNames) {
        set(peer.version, wb_sslversion_tls_1_2)
        if tls.certificateAuthorities != nil || tls.certificateAuthoritiesPEM != nil {
            // Trust only these: by default, libcurl would also search the system's directory.
            set(peer.directory, nil as String?)
        }
        if let path = tls.certificateAuthorities { set(peer.authorities, path) }
        if let text = tls.certificateAuthoritiesPEM { set(peer.authoritiesBlob, blob: Array(text.utf8)) }
        if !tls.pinnedKeys.isEmpty { set(peer.pin, tls.pinnedKeys.joined(separator: ";")) }
        if tls.insecureSkipVerification {
            set(peer.verifyPeer, 0)
            set(peer.verifyHost, 0)
        }
        guard let client = tls.clientCertificate else { return }
        let format = client.format == .pem ? "PEM" : "P12"
        set(peer.certificateType, format)
        switch client.certificate {
        case .file(let path): set(peer.certificate, path)
        case .bytes(let bytes): set(peer.certificateBlob, blob: bytes)
        }
        if client.format == .pem {
            set(peer.keyType, format)
            switch client.key ?? client.certificate {
            case .file(let path): set(peer.key, path)
            case .bytes(let bytes): set(peer.keyBlob, blob: bytes)
            }
        }
        // Without a passphrase, OpenSSL would prompt on the terminal and block the engine's thread.
        set(peer.passphrase, client.passphrase?.value ?? "")
    }

    /// Prevents reuse of the connection for a request without TLS to a proxy with TLS: libcurl 7.88 would reuse it
    /// without comparing the TLS options for the proxy.
    func forbidReuseIfNeeded(_ request: TransferRequest) {
        guard request.hasProxyOverTLS, !request.isOverTLS else { return }
        set(CURLOPT_FORBID_REUSE, true)
    }

    /// Returns the name of an HTTP version from libcurl's number.
    static func httpVersionName(_ number: Int) -> String? {
        switch number {
        case wb_http_1_0: "HTTP/1.0"
        case wb_http_1_1: "HTTP/1.1"
        case wb_http_2: "HTTP/2"
        default: nil
        }
    }
}

/// The names of the TLS options, which libcurl has twice: for the server and for a proxy with TLS.
private struct TLSOptionNames {
    var version, directory, authorities, authoritiesBlob, pin, verifyPeer, verifyHost: CURLoption
    var certificate, certificateBlob, certificateType, key, keyBlob, keyType, passphrase: CURLoption

    static var server: TLSOptionNames {
        TLSOptionNames(
            version: CURLOPT_SSLVERSION, directory: CURLOPT_CAPATH, authorities: CURLOPT_CAINFO,
            authoritiesBlob: CURLOPT_CAINFO_BLOB, pin: CURLOPT_PINNEDPUBLICKEY, verifyPeer: CURLOPT_SSL_VERIFYPEER,
            verifyHost: CURLOPT_SSL_VERIFYHOST, certificate: CURLOPT_SSLCERT, certificateBlob: CURLOPT_SSLCERT_BLOB,
            certificateType: CURLOPT_SSLCERTTYPE, key: CURLOPT_SSLKEY, keyBlob: CURLOPT_SSLKEY_BLOB,
            keyType: CURLOPT_SSLKEYTYPE, passphrase: CURLOPT_KEYPASSWD)
    }

    static var proxy: TLSOptionNames {
        TLSOptionNames(
            version: CURLOPT_PROXY_SSLVERSION, directory: CURLOPT_PROXY_CAPATH, authorities: CURLOPT_PROXY_CAINFO,
            authoritiesBlob: CURLOPT_PROXY_CAINFO_BLOB, pin: CURLOPT_PROXY_PINNEDPUBLICKEY,
            verifyPeer: CURLOPT_PROXY_SSL_VERIFYPEER, verifyHost: CURLOPT_PROXY_SSL_VERIFYHOST,
            certificate: CURLOPT_PROXY_SSLCERT, certificateBlob: CURLOPT_PROXY_SSLCERT_BLOB,
            certificateType: CURLOPT_PROXY_SSLCERTTYPE, key: CURLOPT_PROXY_SSLKEY, keyBlob: CURLOPT_PROXY_SSLKEY_BLOB,
            keyType: CURLOPT_PROXY_SSLKEYTYPE, passphrase: CURLOPT_PROXY_KEYPASSWD)
    }
}
