import HTTPTypes
import WaybillCore

/// Writes the head of an HTTP/1.1 request (RFC 9112 section 3).
enum RequestHead {
    static func bytes(of request: TransferRequest, target: URLParts, expectsContinue: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        bytes.append(contentsOf: request.method.rawValue.utf8)
        bytes.append(0x20)
        bytes.append(contentsOf: target.path.utf8)
        bytes.append(text: " HTTP/1.1\r\nHost: ")
        bytes.append(contentsOf: target.hostField.utf8)
        bytes.append(text: "\r\n")
        for field in request.headers { bytes.append(field) }
        if !request.headers.contains(.accept) { bytes.append(text: "Accept: */*\r\n") }
        appendFraming(of: request, to: &bytes)
        if expectsContinue { bytes.append(text: "Expect: 100-continue\r\n") }
        bytes.append(text: "\r\n")
        return bytes
    }

    private static func appendFraming(of request: TransferRequest, to bytes: inout [UInt8]) {
        guard let body = request.body else {
            // A server may wait for a body of these methods (RFC 9110 section 8.6).
            if [.post, .put, .patch].contains(request.method) { bytes.append(text: "Content-Length: 0\r\n") }
            return
        }
        guard let length = body.length else { return bytes.append(text: "Transfer-Encoding: chunked\r\n") }
        bytes.append(text: "Content-Length: ")
        bytes.append(contentsOf: String(length).utf8)
        bytes.append(text: "\r\n")
    }
}

extension [UInt8] {
    fileprivate mutating func append(text: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate mutating func append(_ field: HTTPField) {
        append(contentsOf: field.name.rawName.utf8)
        append(text: ": ")
        append(contentsOf: field.value.utf8)
        append(text: "\r\n")
    }
}

extension TransferRequest {
    /// Whether ``HTTP1Transfer`` can run the request. Everything that only libcurl implements stays with it.
    var isForHTTP1Transfer: Bool {
        guard options.httpVersion == .http1, options.digest == nil, options.curlOptions.isEmpty else { return false }
        // Without TLS, an HTTP proxy receives the request itself instead of a CONNECT.
        if let proxy = options.proxy, !proxy.isEmpty, !isOverTLS, !Self.isSOCKS(proxy) { return false }
        return Self.isPlainURL(url)
    }

    /// Whether the proxy forwards connections. A proxy without a scheme is an HTTP proxy.
    private static func isSOCKS(_ proxy: String) -> Bool {
        let proxy = proxy.lowercased()
        return ["socks4://", "socks4a://", "socks5://", "socks5h://"].contains { proxy.hasPrefix($0) }
    }

    /// Whether a URL has neither user information nor characters that need a conversion by libcurl, such as those of
    /// an internationalized host name.
    private static func isPlainURL(_ url: String) -> Bool {
        var isInAuthority = true
        var slashes = 0
        for byte in url.utf8 {
            switch byte {
            case UInt8(ascii: "/"):
                slashes += 1
                if slashes > 2 { isInAuthority = false }
            case UInt8(ascii: "?"), UInt8(ascii: "#"): isInAuthority = false
            case UInt8(ascii: "@"), UInt8(ascii: "%"): if isInAuthority { return false }
            case 0x00...0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B...0x7D, 0x7F...0xFF: return false
            default: continue
            }
        }
        return true
    }
}
