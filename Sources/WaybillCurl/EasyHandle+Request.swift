import HTTPTypes
import CWaybillCurl
import WaybillCore

extension EasyHandle {
    /// Sets every option that a request needs, apart from the callbacks.
    ///
    /// What libcurl would do unasked is switched off here: redirects, the environment's proxies, `Expect`, a content
    /// type of its own.
    func configure(
        for request: TransferRequest, isAlone: Bool, headers: borrowing StringList, resolve: borrowing StringList
    ) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PATH_AS_IS, true)
        set(CURLOPT_FOLLOWLOCATION, false)
        set(CURLOPT_NOSIGNAL, true)
        // Without it, libcurl waits for a resolver's thread when a transfer is removed, and the whole engine with it.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        set(CURLOPT_HTTPHEADER, headers)
        if unsafe resolve.first != nil { set(CURLOPT_CONNECT_TO, resolve) }
        if let digest = request.options.digest { configureDigest(digest) }
        configureMethod(request, isAlone: isAlone)
        configureNetwork(request.options)
        set(
            CURLOPT_HTTP_VERSION,
            request.options.httpVersion == .http1 ? wb_http_version_1_1 : wb_http_version_2_tls)
        configureLimits(request)
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

    /// One path for all methods with a body. `CURLOPT_UPLOAD` would do for PUT, but brings PUT's own rules.
    private func configurePost(_ method: HTTPRequest.Method, length: Int64?) {
        set(CURLOPT_POST, true)
        set(CURLOPT_POSTFIELDSIZE_LARGE, large: length ?? -1)
        if length == 0 { set(CURLOPT_POSTFIELDS, "") }
        if method != .post { set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
    }

    /// With Digest as the only scheme, libcurl asks for the challenge by a request without the body, and so sends the body
    /// once. With several to choose from it would send it twice.
    private func configureDigest(_ digest: DigestCredential) {
        set(CURLOPT_HTTPAUTH, wb_auth_digest)
        set(CURLOPT_USERNAME, digest.user)
        set(CURLOPT_PASSWORD, digest.password.value)
    }

    private func configureLimits(_ request: TransferRequest) {
        // The engine's own watch decides; libcurl's limit stands behind it, because its default is 300 s.
        set(CURLOPT_CONNECTTIMEOUT_MS, request.options.limits.connect.wholeMilliseconds + 5_000)
        if case .above(_, let wait) = request.options.expectContinue {
            set(CURLOPT_EXPECT_100_TIMEOUT_MS, max(1, min(wait, request.options.limits.stall).wholeMilliseconds))
        }
        set(CURLOPT_TCP_KEEPALIVE, true)
    }

    /// Large buffers make large bodies 1.7 times as fast on a plain connection, and a very large one another fifth, which a
    /// single transfer may have that is long enough to pay for the memory; many of them would leave the processor's cache.
    /// Small bodies lose by them: libcurl allocates the buffer for each transfer, and glibc gives blocks of 128 KiB back to
    /// the kernel each time. What fits into a little less than that is read and sent in one piece. TLS sends records of
    /// 16 KiB whatever the buffer; those of one buffer leave in segments of up to 64 KiB, which is what a larger one is for.
    /// A limited rate is kept in bursts of one buffer, so that one is small.
    static func uploadBufferSize(for request: TransferRequest, isAlone: Bool = false) -> Int {
        if let rate = request.options.rateLimit { return Int(max(16 << 10, min(64 << 10, rate.bytes / 8))) }
        let length = request.body?.length
        if request.isSealed {
            // Where nobody can look into the socket, nothing is seen to leave before all of a piece has.
            let isSeen = request.options.httpVersion == .http1 && request.options.unixSocket == nil
            return isSeen && length ?? .max >= 1 << 20 ? 256 << 10 : 64 << 10
        }
        guard let length else { return 512 << 10 }
        return switch length {
        case ...(64 << 10): 64 << 10
        case ...(112 << 10): 112 << 10
        case ..<(1 << 20): 64 << 10
        case (64 << 20)... where isAlone: 2 << 20
        default: 512 << 10
        }
    }
}

extension StringList {
    /// The header lines of a request, as libcurl takes them.
    ///
    /// A question for a Digest challenge does without the idempotency key: a server that asks nobody would answer the
    /// request itself with what it said to the question.
    static func headers(of request: TransferRequest, asksLeave: Bool, isQuestion: Bool = false) -> StringList {
        var list = StringList()
        for field in request.headers where !isQuestion || field.name.canonicalName != "idempotency-key" {
            // "Name;" is libcurl's way to say a field with an empty value; "Name:" would remove it.
            if field.value.isEmpty {
                list.append(field.name.rawName, ";")
            } else {
                list.append(field.name.rawName, ": ", field.value)
            }
        }
        if !request.headers.contains(.contentType) { list.append("Content-Type:") }
        if !request.headers.contains(.accept) { list.append("Accept: */*") }
        // The question itself is left to libcurl, which knows to leave it out when it sends again after a 417; a line of
        // ours would be there again.
        if !asksLeave { list.append("Expect:") }
        if let body = request.body, body.length == nil { list.append("Transfer-Encoding: chunked") }
        return list
    }
}

extension StringList {
    /// `host:port:address` as libcurl's `host:port:address:port`.
    ///
    /// `CURLOPT_RESOLVE` would take the entries as they are, but puts them into the name cache that all transfers of the
    /// engine share, where they would lead later uploads astray. This way they hold for one transfer and its connection.
    static func connectTo(_ entries: [String]) -> StringList {
        var list = StringList()
        for entry in entries {
            guard let (host, port, address) = parts(of: entry) else { continue }
            let place = address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
            list.append("\(host == "*" ? "" : host):\(port):\(place):\(port)")
        }
        return list
    }

    /// Host (in brackets when it is an IPv6 address), port and address of an entry; `nil` when it is not one.
    static func parts(of entry: String) -> (host: Substring, port: Substring, address: Substring)? {
        let hostEnd =
            entry.hasPrefix("[") ? entry.firstIndex(of: "]").map { entry.index(after: $0) } : entry.firstIndex(of: ":")
        guard let hostEnd, hostEnd < entry.endIndex, entry[hostEnd] == ":", hostEnd > entry.startIndex else {
            return nil
        }
        let rest = entry[entry.index(after: hostEnd)...]
        guard let portEnd = rest.firstIndex(of: ":"), let port = UInt16(rest[..<portEnd]), port > 0 else { return nil }
        // Of several addresses the first; a connection has one.
        let address = rest[rest.index(after: portEnd)...].prefix { $0 != "," }
        return address.isEmpty ? nil : (entry[..<hostEnd], rest[..<portEnd], address)
    }
}

extension TransferRequest {
    /// libcurl's own threshold: below it, the question takes longer than the body.
    private static let leastAsked: Int64 = 1 << 20

    /// Whether the body is one that the server is asked about first.
    var wantsLeave: Bool {
        guard let body, case .above(let threshold, _) = options.expectContinue else { return false }
        return body.length.map { $0 > max(threshold.bytes, Self.leastAsked) } ?? true
    }
}

extension Duration {
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        // Eleven days are as good as for ever, and keep every sum and every C type of libcurl's in range.
        return Int(max(0, min(1_000_000, seconds))) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
