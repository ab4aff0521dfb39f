/// A response as bytes, valid or as invalid as a test needs.
///
/// ```swift
/// ScriptedResponse(201, headers: [("Location", "/1")], text: "made")
/// ScriptedResponse(200, chunks: ["first", "second"])
/// ScriptedResponse.raw("HTTP/1.1 200 OK\r\nX-Odd: a\r\n folded\r\nContent-Length: 0\r\n\r\n")
/// ```
package struct ScriptedResponse: Sendable {
    /// The bytes on the wire.
    package var bytes: [UInt8]
    /// Whether the server closes the connection afterwards, because the response says so.
    package var closes: Bool

    /// Creates a response with a `Content-Length`, unless `headers` contains framing or the status has no body.
    package init(_ status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []) {
        let framing = ["content-length", "transfer-encoding"]
        let isFramed = headers.contains { framing.contains($0.0.lowercased()) }
        let hasBody = status >= 200 && status != 204 && status != 304
        let length = isFramed || !hasBody ? [] : [("Content-Length", "\(body.count)")]
        bytes = Self.head(status, headers + length) + body
        closes = Self.saysClose(headers)
    }

    /// Creates a response with a text body.
    package init(_ status: Int = 200, headers: [(String, String)] = [], text: String) {
        self.init(status, headers: headers, body: Array(text.utf8))
    }

    /// Creates a chunked response (RFC 9112, section 7.1).
    package init(_ status: Int = 200, headers: [(String, String)] = [], chunks: [String]) {
        bytes = Self.head(status, headers + [("Transfer-Encoding", "chunked")])
        for chunk in chunks where !chunk.isEmpty {
            bytes += Array("\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n".utf8)
        }
        bytes += Array("0\r\n\r\n".utf8)
        closes = Self.saysClose(headers)
    }

    /// Creates a response of arbitrary bytes.
    package static func raw(_ text: String) -> ScriptedResponse {
        var response = ScriptedResponse()
        response.bytes = Array(text.utf8)
        return response
    }

    /// The status, if the bytes begin like a response.
    var status: Int? {
        let words = String(decoding: bytes.prefix(13), as: UTF8.self).split(separator: " ")
        return words.count > 1 ? Int(words[1].prefix(3)) : nil
    }

    /// Returns status line, header lines and empty line.
    static func head(_ status: Int, _ headers: [(String, String)]) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(reasons[status] ?? "Status")\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func saysClose(_ headers: [(String, String)]) -> Bool {
        headers.contains { $0.0.lowercased() == "connection" && $0.1.lowercased() == "close" }
    }

    private static let reasons = [
        100: "Continue", 102: "Processing", 103: "Early Hints", 104: "Upload Resumption Supported", 200: "OK",
        201: "Created", 203: "Non-Authoritative Information", 204: "No Content", 303: "See Other",
        307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 412: "Precondition Failed", 413: "Content Too Large",
        415: "Unsupported Media Type", 417: "Expectation Failed", 423: "Locked", 429: "Too Many Requests",
        460: "Checksum Mismatch", 500: "Internal Server Error", 503: "Service Unavailable",
    ]
}
