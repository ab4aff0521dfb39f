import HTTPTypes
import CWaybillCurl
import WaybillCore

extension EasyHandle {
    /// Sets every option that a request needs, except the callbacks.
    ///
    /// Disables everything that libcurl would do implicitly: redirects, environment proxies, `Expect`, and a default
    /// content type.
    func configure(
        for request: TransferRequest, isAlone: Bool, headers: borrowing StringList, resolve: borrowing StringList
    ) {
        configureConnection(for: request, resolve: resolve)
        set(CURLOPT_FOLLOWLOCATION, false)
        set(CURLOPT_HTTPHEADER, headers)
        if let digest = request.options.digest { configureDigest(digest) }
        configureMethod(request, isAlone: isAlone)
        if case .above(_, let wait) = request.options.expectContinue {
            set(CURLOPT_EXPECT_100_TIMEOUT_MS, max(1, min(wait, request.options.limits.stall).wholeMilliseconds))
        }
    }

    /// Sets the options that affect the connection.
    func configureConnection(for request: TransferRequest, resolve: borrowing StringList) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PATH_AS_IS, true)
        set(CURLOPT_NOSIGNAL, true)
        // Otherwise, removing a transfer would wait for the resolver's thread and block the whole engine.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        if unsafe resolve.first != nil { set(CURLOPT_CONNECT_TO, resolve) }
        configureNetwork(request.options)
        let mayUseHTTP2 = request.options.httpVersion == .http2
        set(CURLOPT_HTTP_VERSION, mayUseHTTP2 ? wb_http_version_2_tls : wb_http_version_1_1)
        // Concurrent requests wait for the first connection and share it, instead of opening one each.
        if mayUseHTTP2 { set(CURLOPT_PIPEWAIT, true) }
        // The engine enforces the limit; libcurl's limit is a fallback, because its default is 300 s.
        set(CURLOPT_CONNECTTIMEOUT_MS, request.options.limits.connect.wholeMilliseconds + 5_000)
        set(CURLOPT_TCP_KEEPALIVE, true)
    }

    private func configureMethod(_ request: TransferRequest, isAlone: Bool) {
        guard let body = request.body else {
            switch request.method {
            case .get: set(CURLOPT_HTTPGET, true)
            case .head: set(CURLOPT_NOBODY, true)
            case .post, .put, .patch: configurePost(request.method, length: 0)
            default:
                set(CURLOPT_HTTPGET, true)
                set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
            }
            return
        }
        configurePost(request.method, length: body.length)
        set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferSize(for: request, isAlone: isAlone))
    }

    /// Configures any method with a body in the same way. `CURLOPT_UPLOAD` has rules specific to PUT.
    private func configurePost(_ method: HTTPRequest.Method, length: Int64?) {
        set(CURLOPT_POST, true)
        set(CURLOPT_POSTFIELDSIZE_LARGE, large: length ?? -1)
        if length == 0 { set(CURLOPT_POSTFIELDS, "") }
        if method != .post { set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
    }

    /// Enables Digest as the only scheme: libcurl then fetches the challenge with a request without a body, so the body
    /// is sent once. With several schemes it would send the body twice.
    private func configureDigest(_ digest: DigestCredential) {
        set(CURLOPT_HTTPAUTH, wb_auth_digest)
        set(CURLOPT_USERNAME, digest.user)
        set(CURLOPT_PASSWORD, digest.password.value)
    }

    /// Returns the size of the upload buffer.
    ///
    /// Large buffers make large bodies 1.7 times as fast on a plain connection, and a very large buffer another fifth.
    /// Only a transfer that runs alone and is long enough to justify the memory gets one: several of them would exceed
    /// the processor's cache. 32 concurrent bodies are sent as fast with 256 KiB as with 512 KiB, and need 8 MB less.
    ///
    /// Small bodies become slower: libcurl allocates the buffer for each transfer, and glibc returns blocks of 128 KiB
    /// to the kernel each time. A body that fits into slightly less is read and sent in one piece. TLS sends records of
    /// 16 KiB regardless of the buffer; the records of one buffer are sent in segments of up to 64 KiB, hence the
    /// larger buffer. A rate limit is enforced in bursts of one buffer, which is then small.
    static func uploadBufferSize(for request: TransferRequest, isAlone: Bool = false) -> Int {
        if let rate = request.options.rateLimit { return Int(max(16 << 10, min(64 << 10, rate.bytes / 8))) }
        let length = request.body?.length
        if request.options.httpVersion == .http2 {
            // Progress is visible only when a whole piece was sent, because the socket is shared.
            return (length ?? .max) <= 112 << 10 ? 112 << 10 : 64 << 10
        }
        if request.sendsTLSRecords {
            // The same is true for a Unix socket, which has no counters.
            return request.options.unixSocket == nil && (length ?? .max) >= 1 << 20 ? 256 << 10 : 64 << 10
        }
        let long = isAlone ? 512 << 10 : 256 << 10
        guard let length else { return long }
        return switch length {
        case ...(64 << 10): 64 << 10
        case ...(112 << 10): 112 << 10
        case ..<(1 << 20): 64 << 10
        case (64 << 20)... where isAlone: 2 << 20
        default: long
        }
    }
}

extension StringList {
    /// Returns the header lines of a request in libcurl's format.
    ///
    /// A request for a Digest challenge omits the idempotency key: a server that does not challenge it would otherwise
    /// answer the actual request with the stored response to this one.
    static func headers(
        of request: TransferRequest, expectsContinue: Bool, isChallengeRequest: Bool = false
    ) -> StringList {
        var list = StringList()
        for field in request.headers where !isChallengeRequest || field.name.canonicalName != "idempotency-key" {
            // In libcurl, "Name;" is a field with an empty value; "Name:" would remove the field.
            if field.value.isEmpty {
                list.append(field.name.rawName, ";")
            } else {
                list.append(field.name.rawName, ": ", field.value)
            }
        }
        if !request.headers.contains(.contentType) { list.append("Content-Type:") }
        if !request.headers.contains(.accept) { list.append("Accept: */*") }
        // libcurl adds `Expect` itself and omits it when it repeats the request after a 417; our line would be
        // repeated.
        if !expectsContinue { list.append("Expect:") }
        if let body = request.body, body.length == nil { list.append("Transfer-Encoding: chunked") }
        return list
    }
}

extension StringList {
    /// Returns entries of the form `host:port:address` in libcurl's form `host:port:address:port`.
    ///
    /// `CURLOPT_RESOLVE` would accept the entries unchanged, but adds them to the name cache that all transfers of the
    /// engine share, where they would affect later uploads. `CURLOPT_CONNECT_TO` applies to one transfer.
    static func connectTo(_ entries: [String]) -> StringList {
        var list = StringList()
        for entry in entries {
            guard let (host, port, address) = parts(of: entry) else { continue }
            let place = address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
            list.append("\(host == "*" ? "" : host):\(port):\(place):\(port)")
        }
        return list
    }

    /// Returns the host (in brackets if it is an IPv6 address), port and address of an entry; `nil` if malformed.
    static func parts(of entry: String) -> (host: Substring, port: Substring, address: Substring)? {
        let hostEnd =
            entry.hasPrefix("[") ? entry.firstIndex(of: "]").map { entry.index(after: $0) } : entry.firstIndex(of: ":")
        guard let hostEnd, hostEnd < entry.endIndex, entry[hostEnd] == ":", hostEnd > entry.startIndex else {
            return nil
        }
        let rest = entry[entry.index(after: hostEnd)...]
        guard let portEnd = rest.firstIndex(of: ":"), let port = UInt16(rest[..<portEnd]), port > 0 else { return nil }
        // Use the first of several addresses; a connection has one.
        let address = rest[rest.index(after: portEnd)...].prefix { $0 != "," }
        return address.isEmpty ? nil : (entry[..<hostEnd], rest[..<portEnd], address)
    }
}

extension TransferRequest {
    /// libcurl's own threshold; below it, waiting takes longer than sending the body.
    private static let minimumExpectLength: Int64 = 1 << 20

    /// Whether the request expects `100 Continue` before its body is sent.
    var shouldExpectContinue: Bool {
        guard let body, case .above(let threshold, _) = options.expectContinue else { return false }
        return body.length.map { $0 > max(threshold.bytes, Self.minimumExpectLength) } ?? true
    }
}

extension Duration {
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        // Clamp to eleven days: this keeps every sum and every C type of libcurl in range.
        return Int(max(0, min(1_000_000, seconds))) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}

extension TransferRequest {
    /// Whether the URL's scheme is `https`.
    var isOverTLS: Bool { Self.isHTTPS(url) }

    /// Whether the connection to the proxy uses TLS.
    var hasProxyOverTLS: Bool { options.proxy.map(Self.isHTTPS) ?? false }

    /// Whether the bytes given to the kernel are TLS records.
    var sendsTLSRecords: Bool { isOverTLS || hasProxyOverTLS }

    /// Compares the scheme case-insensitively. Avoids a slice, because every transfer calls this several times.
    private static func isHTTPS(_ url: String) -> Bool {
        var letters = url.utf8.makeIterator()
        for expected in "https:".utf8 {
            guard let letter = letters.next(), letter | 0x20 == expected | 0x20 else { return false }
        }
        return true
    }
}
