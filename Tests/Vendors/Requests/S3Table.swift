import FoundationEssentials
import HTTPTypes
import WaybillCore
import WaybillStores

/// Requests to S3 that are signed but not sent: each type of key, query and header field with each placement of the
/// signature, for both positions of the bucket.
enum S3Table {
    static let keys = SignedTable.keys + ["//a//", "100%.txt", "空 空+%20"]

    static let queries: [[StoreQueryItem]] = [
        [], [StoreQueryItem("uploads")],
        [StoreQueryItem("partNumber", "7"), StoreQueryItem("uploadId", "VXBsb2FkIElE/+=")],
        [StoreQueryItem("x-id", "PutObject"), StoreQueryItem("other", "a b/+"), StoreQueryItem("空", "%")],
    ]

    static let fields: [HTTPFields] = [
        [:],
        [.contentType: "image/jpeg"],
        [
            .contentType: "text/plain; charset=utf-8", HTTPField.Name("Content-MD5")!: "XrY7u+Ae7tCTyyK7j1rNww==",
            HTTPField.Name("x-amz-meta-author")!: "alice", HTTPField.Name("X-Amz-Storage-Class")!: "STANDARD_IA",
            HTTPField.Name("If-None-Match")!: "*",
        ],
        [HTTPField.Name("x-amz-meta-note")!: "  two  spaces,  and   three "],
    ]

    /// The placement of a signature and what it covers.
    enum Form: String, CaseIterable {
        case header = "header"
        case headerWithHash = "header with hash"
        case url = "URL"
    }

    /// Returns all requests.
    static func lines() throws -> [RequestLine] {
        var lines: [RequestLine] = []
        for identity in SignedTable.identities {
            for form in Form.allCases {
                for location in ["https://examplebucket.s3.eu-west-1.amazonaws.com/", "http://127.0.0.1:9000/b/"] {
                    for key in keys {
                        for query in queries {
                            for headers in fields {
                                var line = RequestLine(
                                    what: "", id: identity.id, secret: identity.secret, token: identity.token)
                                line.key = key
                                let request = S3RequestToSign(
                                    query.isEmpty ? .put : .post, location + PercentEncoding.path(key), query: query,
                                    headers: headers)
                                try sign(request, form, into: &line)
                                lines.append(line)
                            }
                        }
                    }
                }
            }
        }
        return lines
    }

    private static func sign(_ request: S3RequestToSign, _ form: Form, into line: inout RequestLine) throws {
        let date = Date(timeIntervalSince1970: 1_795_257_600)
        let credentials = StoreCredentials(
            accessKeyID: line.id, accessKeySecret: .secret(line.secret), securityToken: line.token.map { .secret($0) })
        line.what = "S3 \(form.rawValue) \(request) with \(request.headers.count) fields"
        line.method = request.method.rawValue
        line.region = "eu-west-1"
        if form == .url {
            let upload = try request.presignedUpload(
                with: credentials, region: line.region, at: date, validFor: .seconds(599))
            line.target = upload.url.value
            line.headers = upload.headers.map { [$0.name.rawName, $0.value] }
            return
        }
        var request = request
        if form == .headerWithHash {
            line.body = "hello s3"
            request.payloadHash = MessageAuthentication.sha256Text("hello s3")
        }
        let query = request.query.isEmpty ? "" : "?\(StoreQueryItem.text(of: request.query))"
        line.target = request.location + query
        line.headers = try request.signedHeaders(with: credentials, region: line.region, at: date).map {
            [$0.name.rawName, $0.value]
        }
    }
}
