import FlyingFox
import Foundation

/// Responses for browsers, with content type, without caching, and with a restrictive Content-Security-Policy.
enum PageReply {
    /// The policy of the page: only its own files and server, and no conversion of strings to markup or script.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    /// The policy of all other responses, which are inert when opened directly.
    static let inert = "default-src 'none'; frame-ancestors 'none'; sandbox"

    static func make(
        _ type: String, _ body: HTTPBodySequence, status: HTTPStatusCode = .ok, policy: String = inert,
        extra: [HTTPHeader: String] = [:]
    ) -> HTTPResponse {
        var headers: HTTPHeaders = [
            .contentType: type, .cacheControl: "no-store",
            HTTPHeader("X-Content-Type-Options"): "nosniff",
            HTTPHeader("Content-Security-Policy"): policy,
            HTTPHeader("Referrer-Policy"): "no-referrer",
            HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
            HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
        ]
        for (name, value) in extra { headers[name] = value }
        return HTTPResponse(statusCode: status, headers: headers, body: body)
    }

    static func make(
        _ type: String, _ body: Data, status: HTTPStatusCode = .ok, policy: String = inert
    ) -> HTTPResponse {
        make(type, HTTPBodySequence(data: body), status: status, policy: policy)
    }

    static func json(_ value: some Encodable, status: HTTPStatusCode = .ok) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return make("application/json", try encoder.encode(value), status: status)
    }

    static func failure(_ status: HTTPStatusCode, _ message: String) throws -> HTTPResponse {
        try json(["message": message], status: status)
    }

    /// Returns a stored file as an attachment, which browsers save and do not display.
    ///
    /// The name is the sanitized name of the client. `filename` is ASCII only; `filename*` has the encoded name (RFC
    /// 6266, section 4.3).
    static func download(_ path: String, name: String) throws -> HTTPResponse {
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == ".")
                ? String(scalar) : "_"
        }.joined()
        let encoded = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.intersection(ascii)) ?? plain
        let body = try HTTPBodySequence(file: URL(fileURLWithPath: path), suggestedBufferSize: 65_536)
        return make(
            "application/octet-stream", body,
            extra: [.contentDisposition: "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(encoded)"])
    }

    private static let ascii = CharacterSet(charactersIn: Unicode.Scalar(0)...Unicode.Scalar(127))
}
