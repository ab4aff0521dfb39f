import FoundationEssentials
import HTTPTypes
import WaybillCore
import WaybillStores

/// Requests that are signed but not sent: each type of key, query and header field with each type of signature.
enum SignedTable {
    static let keys = [
        "plain.jpg", "a+b c%d#e?f.jpg", "空/照片 1.jpg", "dir//double/./dots/../x", "~-_.!*'()", "a&b=c;d:e@f,g$h",
        "é\u{65}\u{301}",
    ]

    static let queries: [[StoreQueryItem]] = [
        [], [StoreQueryItem("uploads", "")],
        [StoreQueryItem("partNumber", "7"), StoreQueryItem("uploadId", "0004B9894A22E5B1888A1E29F823")],
        [StoreQueryItem("append", ""), StoreQueryItem("position", "1024")],
        [
            StoreQueryItem("x-oss-traffic-limit", "819200"), StoreQueryItem("callback", "eyJhIjoiYi8rPSJ9"),
            StoreQueryItem("other", "a b/+"),
        ],
    ]

    static let fields: [HTTPFields] = [
        [:],
        [.contentType: "image/jpeg"],
        [
            .contentType: "text/plain; charset=utf-8", HTTPField.Name("Content-MD5")!: "XrY7u+Ae7tCTyyK7j1rNww==",
            HTTPField.Name("x-oss-meta-author")!: "alice", HTTPField.Name("X-OSS-Object-ACL")!: "private",
            .cacheControl: "no-cache", .contentDisposition: "attachment",
        ],
    ]

    static let identities: [(id: String, secret: String, token: String?)] = [
        ("LTAIexample", "sec/ret+1=", nil), ("STS.example", "other", "CAIS/to+ken==%"),
    ]

    /// Returns all requests.
    static func lines() async throws -> [RequestLine] {
        var lines: [RequestLine] = []
        let date = Date(timeIntervalSince1970: 1_795_257_600)
        for identity in identities {
            let signer = OSSCredentialSigner(
                .fixed(
                    StoreCredentials(
                        accessKeyID: identity.id, accessKeySecret: .secret(identity.secret),
                        securityToken: identity.token.map { .secret($0) })))
            for (rule, rules) in rules() {
                for key in keys {
                    for (number, query) in queries.enumerated() {
                        for headers in fields {
                            var request = OSSRequestToSign(
                                number == 1 || number == 3 ? .post : .put, bucket: "examplebucket", key: key,
                                query: query,
                                headers: headers)
                            // Both packages require Date, which a client always sends with a signature in its header.
                            if rules.placement == .header { request.headers[.date] = nil }
                            let signed = try await signer.sign(request, rules: rules, at: date, rejecting: nil)
                            lines.append(
                                line(request, signed, identity, "\(rule) \(request) with \(headers.count) fields"))
                        }
                    }
                }
            }
        }
        return lines
    }

    private static func rules() -> [(String, OSSSigningRules)] {
        let additional: [HTTPField.Name] = [.cacheControl, .contentDisposition, HTTPField.Name("absent")!]
        let query = OSSSigningRules.Placement.query(validFor: .seconds(599))
        return [
            ("V1 header", OSSSigningRules(.v1)),
            ("V1 URL", OSSSigningRules(.v1, placement: query)),
            ("V4 header", OSSSigningRules(.v4, region: "cn-hangzhou")),
            ("V4 URL", OSSSigningRules(.v4, region: "cn-hangzhou", placement: query)),
            ("V4 header+", OSSSigningRules(.v4, region: "cn-hangzhou", additionalHeaders: additional)),
            ("V4 URL+", OSSSigningRules(.v4, region: "cn-hangzhou", additionalHeaders: additional, placement: query)),
        ]
    }

    private static func line(
        _ request: OSSRequestToSign, _ signed: OSSSignedRequest,
        _ identity: (id: String, secret: String, token: String?), _ what: String
    ) -> RequestLine {
        var line = RequestLine(what: what, id: identity.id, secret: identity.secret, token: identity.token)
        line.method = request.method.rawValue
        line.target = "/" + PercentEncoding.path(request.key ?? "") + (signed.queryText.map { "?\($0)" } ?? "")
        line.headers = signed.headers.map { [$0.name.rawName, $0.value] }
        line.bucket = request.bucket ?? ""
        line.key = request.key ?? ""
        return line
    }
}
