import HTTPTypes
import CWaybillCurl
import WaybillCore

/// Validates a request before a handle is used. Rejects requests that libcurl would alter and headers that affect
/// framing.
enum RequestCheck {
    /// - Returns: The origin of the URL (RFC 9110 section 4.3.1): scheme, host, port.
    /// - Throws: ``TransferError/Code/invalidURL`` or ``TransferError/Code/invalidRequest``, outcome `notSent`.
    @discardableResult
    static func check(_ request: TransferRequest) throws(TransferError) -> String {
        let origin = try origin(of: request.url)
        try check(request, origin: origin)
        return origin
    }

    /// Checks everything except the URL, whose origin is known.
    static func check(_ request: TransferRequest, origin: String) throws(TransferError) {
        for field in request.headers {
            guard !TransferRequest.ownedFields.contains(field.name) else {
                throw refused("The header field \(field.name.canonicalName) is set by the transport. Remove it.")
            }
        }
        try NetworkCheck.check(request.options, origin: origin)
        for entry in request.options.resolve where StringList.parts(of: entry) == nil {
            throw refused("\"\(entry)\" is not a valid host:port:address. An example is example.com:443:127.0.0.1.")
        }
        if let rate = request.options.rateLimit, rate.bytes <= 0 {
            throw refused("The rate limit must be at least one byte per second. Remove it for no limit.")
        }
        if let digest = request.options.digest {
            guard request.body == nil || request.body?.length != nil else {
                throw refused(
                    "Digest requires a body of known length. Save the stream to a file, or use another scheme.")
            }
            guard request.headers[.authorization] == nil,
                !(digest.user + digest.password.value).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else {
                throw refused(
                    "Digest requires user and password without control characters, and no Authorization field.")
            }
        }
        if let length = request.body?.length, length < 0 {
            throw refused("The length of the body must not be negative.")
        }
    }

    /// Parses the URL with libcurl (`curl_url_set(3)`), then checks its scheme and host.
    static func origin(of text: String) throws(TransferError) -> String {
        guard let url = unsafe curl_url() else { throw refused("Out of memory.") }
        defer { unsafe curl_url_cleanup(url) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
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
        return "\(scheme)://\(host.lowercased()):\(port)"
    }

    private static func part(_ part: CURLUPart, of url: OpaquePointer, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    private static func refused(_ message: String) -> TransferError {
        TransferError(.invalidRequest, message, outcome: .notSent)
    }
}
