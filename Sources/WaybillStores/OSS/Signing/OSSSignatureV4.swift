import FoundationEssentials
import HTTPTypes
import WaybillCore

/// Version 4 of OSS's signatures: HMAC-SHA256 over a canonical request, with a key that is derived for one day.
enum OSSSignatureV4 {
    static let algorithm = "OSS4-HMAC-SHA256"
    static let unsignedPayload = "UNSIGNED-PAYLOAD"
    static let terminator = "aliyun_v4_request"

    /// The scope of a signature: a day, a region and a product.
    struct Scope: Sendable, Hashable {
        let date: Date
        let region: String
        let product: String

        init(date: Date, region: String, product: String) {
            self.date = date
            self.region = region
            self.product = product
        }

        init(_ rules: OSSSigningRules, date: Date) throws(StoreError) {
            try OSSName.checkRegion(rules.region ?? "")
            self.init(date: date, region: rules.region ?? "", product: rules.product)
        }

        var day: String { StoreDate.day(date) }
        var text: String { "\(day)/\(region)/\(product)/\(terminator)" }
    }

    /// Returns the lower-case names of additional fields to sign: those that are present and not signed by default.
    static func additionalNames(_ rules: OSSSigningRules, in request: OSSRequestToSign) -> [String] {
        let present = request.fieldNames
        return Set(rules.additionalHeaders.map(\.canonicalName))
            .filter { present.contains($0) && !isCovered($0) }.sorted()
    }

    /// Returns the request with date, token and scope, in header fields or in the query of a presigned URL.
    static func dated(
        _ request: OSSRequestToSign, identity: OSSSigningIdentity, scope: Scope, additional: [String], seconds: Int?
    ) -> OSSRequestToSign {
        var request = request
        request.query.removeAll { ownQuery.contains(Array($0.name.utf8)) }
        request.headers[.authorization] = nil
        request.headers[.ossSecurityToken] = nil
        guard let seconds else {
            request.headers[.ossDate] = StoreDate.compact(scope.date)
            request.headers[.ossContentSHA256] = unsignedPayload
            if let token = identity.securityToken { request.headers[.ossSecurityToken] = token.value }
            return request
        }
        request.headers[.ossDate] = nil
        request.headers[.ossContentSHA256] = nil
        request.query += [
            StoreQueryItem("x-oss-signature-version", algorithm),
            StoreQueryItem("x-oss-date", StoreDate.compact(scope.date)),
            StoreQueryItem("x-oss-expires", "\(seconds)"),
            StoreQueryItem("x-oss-credential", "\(identity.accessKeyID)/\(scope.text)"),
        ]
        if !additional.isEmpty {
            request.query.append(StoreQueryItem("x-oss-additional-headers", additional.joined(separator: ";")))
        }
        if let token = identity.securityToken {
            request.query.append(StoreQueryItem("x-oss-security-token", token.value))
        }
        return request
    }

    static func canonicalRequest(_ request: OSSRequestToSign, additional: [String]) -> String {
        let items = request.query.map { (PercentEncoding.query($0.name), PercentEncoding.query($0.value)) }
        let query = items.sorted { $0 < $1 }.map { StoreQueryItem.pair($0, $1) }.joined(separator: "&")
        let names = request.fieldNames.filter { isCovered($0) || additional.contains($0) }.sorted()
        let fields = names.compactMap { HTTPField.Name($0) }
            .map { "\($0.canonicalName):\(request.value(of: $0))\n" }.joined()
        let payload = request.headers[.ossContentSHA256] ?? unsignedPayload
        return "\(request.method.rawValue)\n\(PercentEncoding.path(request.resource))\n\(query)\n\(fields)\n"
            + "\(additional.joined(separator: ";"))\n\(payload)"
    }

    static func stringToSign(_ canonicalRequest: String, scope: Scope) -> String {
        "\(algorithm)\n\(StoreDate.compact(scope.date))\n\(scope.text)\n"
            + MessageAuthentication.sha256Text(canonicalRequest)
    }

    static func signature(_ stringToSign: String, secret: Secret, scope: Scope) -> String {
        MessageAuthentication.hexadecimal(
            MessageAuthentication.sha256(key: signingKey(secret: secret, scope: scope), stringToSign))
    }

    /// Returns the key that is derived for one day, region and product.
    static func signingKey(secret: Secret, scope: Scope) -> [UInt8] {
        [scope.day, scope.region, scope.product, terminator].reduce(Array("aliyun_v4\(secret.value)".utf8)) {
            MessageAuthentication.sha256(key: $0, $1)
        }
    }

    private static func isCovered(_ name: String) -> Bool {
        name == "content-type" || name == "content-md5" || name.utf8.starts(with: "x-oss-".utf8)
    }

    private static let ownQuery: Set<[UInt8]> = Set(
        [
            "x-oss-signature-version", "x-oss-date", "x-oss-expires", "x-oss-credential", "x-oss-additional-headers",
            "x-oss-security-token", "x-oss-signature",
        ].map { Array($0.utf8) })
}
