import HTTPTypes
import CWaybillCurl
import WaybillCore

/// Validates a request before a handle is used. Rejects requests that libcurl would alter and headers that affect
/// framing.
enum RequestCheck {
    /// - Returns: The parts of the URL.
    /// - Throws: ``TransferError/Code/invalidURL`` or ``TransferError/Code/invalidRequest``, outcome `notSent`.
    @discardableResult
    static func check(_ request: TransferRequest) throws(TransferError) -> URLParts {
        let target = try target(of: request.url)
        try check(request, origin: target.origin)
        return target
    }

    /// Checks everything except the URL, whose origin is known.
    static func check(_ request: TransferRequest, origin: String) throws(TransferError) {
        for field in request.headers {
            guard !TransferRequest.reservedFields.contains(field.name) else {
                throw invalidRequest("The header field \(field.name.canonicalName) is set by the transport. Remove it.")
            }
        }
        try NetworkCheck.check(request.options, origin: origin)
        for entry in request.options.resolve where StringList.parts(of: entry) == nil {
            throw invalidRequest(
                "\"\(entry)\" is not a valid host:port:address. An example is example.com:443:127.0.0.1.")
        }
        if let rate = request.options.rateLimit, rate.bytes <= 0 {
            throw invalidRequest("The rate limit must be at least one byte per second. Remove it for no limit.")
        }
        if let digest = request.options.digest {
            guard request.body == nil || request.body?.length != nil else {
                throw invalidRequest(
                    "Digest requires a body of known length. Save the stream to a file, or use another scheme.")
            }
            guard request.headers[.authorization] == nil,
                !(digest.user + digest.password.value).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else {
                throw invalidRequest(
                    "Digest requires user and password without control characters, and no Authorization field.")
            }
        }
        if let length = request.body?.length, length < 0 {
            throw invalidRequest("The length of the body must not be negative.")
        }
    }

    /// Parses the URL with libcurl (`curl_url_set(3)`), then checks its scheme and host.
    static func target(of text: String) throws(TransferError) -> URLParts {
        guard let url = unsafe curl_url() else { throw invalidRequest("Out of memory.") }
        defer { unsafe curl_url_cleanup(url) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_PATH_AS_IS)
        let code = unsafe curl_url_set(url, CURLUPART_URL, text, flags)
        guard code == CURLUE_OK else {
            let reason = unsafe String(cString: curl_url_strerror(code))
            throw TransferError(
                .invalidURL, "The URL is invalid (\(reason)). Use an absolute http or https URL.", outcome: .notSent)
        }
        let scheme = unsafe part(CURLUPART_SCHEME, of: url) ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw TransferError(
                .invalidURL, "The URL scheme must be http or https; got \"\(scheme)\".",
                outcome: .notSent)
        }
        let host = unsafe part(CURLUPART_HOST, of: url) ?? ""
        guard host.utf8.allSatisfy({ $0 < 0x80 }) || wb_has_idn() != 0 else {
            throw TransferError(
                .invalidURL,
                "The host name is not ASCII, and the loaded libcurl does not support IDN. Write it as xn--….",
                outcome: .notSent)
        }
        let port = unsafe part(CURLUPART_PORT, of: url, flags: UInt32(CURLU_DEFAULT_PORT)) ?? ""
        let isDefaultPort = port == (scheme == "https" ? "443" : "80")
        let query = unsafe part(CURLUPART_QUERY, of: url)
        return URLParts(
            origin: "\(scheme)://\(host.lowercased()):\(port)",
            hostField: isDefaultPort ? host : "\(host):\(port)",
            path: (unsafe part(CURLUPART_PATH, of: url) ?? "/") + (query.map { "?\($0)" } ?? ""))
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    private static func invalidRequest(_ message: String) -> TransferError {
        TransferError(.invalidRequest, message, outcome: .notSent)
    }
}

/// The parts of a URL that a request consists of.
struct URLParts {
    /// The origin (RFC 9110 section 4.3.1): scheme, host, port.
    var origin: String
    /// The value of the `Host` field.
    var hostField: String
    /// The path and query of the request line.
    var path: String
}

/// A cache of the most recently checked URL and its parts: consecutive uploads usually have the same URL.
struct URLPartsCache {
    private var last: (url: String, target: URLParts)?

    /// Checks a request like ``RequestCheck/check(_:)``, without parsing the same URL again.
    mutating func check(_ request: TransferRequest) throws(TransferError) -> URLParts {
        let target: URLParts
        if let last, last.url.isBytewiseEqual(to: request.url) {
            target = last.target
        } else {
            target = try RequestCheck.target(of: request.url)
            last = (request.url, target)
        }
        try RequestCheck.check(request, origin: target.origin)
        return target
    }
}

extension String {
    /// Returns whether the UTF-8 bytes are equal: `==` also treats canonically equivalent but different URLs as equal.
    fileprivate func isBytewiseEqual(to other: String) -> Bool {
        unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe other.utf8.withContiguousStorageIfAvailable { unsafe bytes.elementsEqual($0) } ?? false
        } ?? false
    }
}
