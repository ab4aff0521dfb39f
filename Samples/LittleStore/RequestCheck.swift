import Crypto
import FlyingFox
import Foundation

/// Authorizes a request by the date, the token and the signature of version 4, in its header or in its URL.
struct RequestCheck {
    private let request: HTTPRequest
    private let resource: String
    private let fields: [String: String]
    /// The query, percent-encoded. Other names than those of a signature are not accepted.
    private let query: [String: String]

    init(_ request: HTTPRequest, resource: String) {
        self.request = request
        self.resource = resource
        fields = Dictionary(
            request.headers.map { ($0.key.rawValue.lowercased(), $0.value.trimmingCharacters(in: .whitespaces)) }
        ) { $1 }
        let pairs = request.target.query().split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1)
            return (String(halves[0]), halves.count > 1 ? String(halves[1]) : "")
        }
        query = Dictionary(pairs) { $1 }
    }

    /// Whether the signature is in the URL.
    private var isPresigned: Bool { query["x-oss-signature"] != nil }

    func run(_ keys: KeyRing) async throws {
        let items = try authorization()
        guard let credential = items["Credential"], let provided = items["Signature"],
            let slash = credential.firstIndex(of: "/")
        else { throw ErrorResponse(.badRequest, "InvalidArgument", "Authorization lacks Credential or Signature.") }
        let scope = String(credential[credential.index(after: slash)...])
        let date = (isPresigned ? query["x-oss-date"] : fields["x-oss-date"]) ?? ""
        guard scope == "\(date.prefix(8))/\(keys.region)/oss/aliyun_v4_request" else {
            throw ErrorResponse(.badRequest, "InvalidArgument", "The scope \(scope) has another region or date.")
        }
        try checkTime(date)
        guard let known = await keys.keys(String(credential[..<slash])) else {
            throw ErrorResponse(.forbidden, "InvalidAccessKeyId", "The access key ID does not exist.")
        }
        guard fields["x-oss-security-token"] == known.token else {
            throw ErrorResponse(
                .forbidden, "InvalidSecurityToken", "The security token does not match the access key ID.")
        }
        if let expiration = known.expiration, expiration <= Date() {
            throw ErrorResponse(.forbidden, "SecurityTokenExpired", "The security token has expired.")
        }
        let canonical = canonicalRequest(additional: items["AdditionalHeaders"] ?? "")
        let hash = SignatureV4.hex(SHA256.hash(data: Array(canonical.utf8)))
        let text = "OSS4-HMAC-SHA256\n\(date)\n\(scope)\n\(hash)"
        guard provided == SignatureV4.signature(text, secret: known.secret, scope: scope) else {
            throw ErrorResponse(.forbidden, "SignatureDoesNotMatch", "The signature does not match.")
        }
    }

    private func checkTime(_ date: String) throws {
        let age = SignatureV4.date(date).map { -$0.timeIntervalSinceNow }
        if isPresigned {
            guard let age, let seconds = query["x-oss-expires"].flatMap(Double.init), age > -900, age < seconds else {
                throw ErrorResponse(.forbidden, "AccessDenied", "Request has expired.")
            }
        } else {
            guard let age, abs(age) < 900 else {
                throw ErrorResponse(
                    .forbidden, "RequestTimeTooSkewed", "The date of the request differs by more than 15 minutes.")
            }
        }
    }

    private func authorization() throws -> [String: String] {
        if isPresigned {
            return [
                "Credential": query["x-oss-credential"]?.removingPercentEncoding ?? "",
                "Signature": query["x-oss-signature"] ?? "",
            ]
        }
        let name = "OSS4-HMAC-SHA256 "
        guard let text = fields["authorization"], text.hasPrefix(name) else {
            throw ErrorResponse(.forbidden, "AccessDenied", "The request has no signature of version 4.")
        }
        let pairs = text.dropFirst(name.count).split(separator: ",").compactMap { item -> (String, String)? in
            let halves = item.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            return halves.count == 2 ? (String(halves[0]), String(halves[1])) : nil
        }
        return Dictionary(pairs) { $1 }
    }

    private func canonicalRequest(additional: String) -> String {
        let names = Set(additional.split(separator: ";").map(String.init))
        let covered = fields.filter { name, _ in
            name.hasPrefix("x-oss-") || ["content-type", "content-md5"].contains(name) || names.contains(name)
        }
        let lines = covered.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)\n" }.joined()
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/")
        let path = "/\(resource)".addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
        let signed = query.filter { $0.key != "x-oss-signature" }.sorted { $0.key < $1.key }
        return [
            request.method.rawValue, path, signed.map { "\($0.key)=\($0.value)" }.joined(separator: "&"), lines,
            additional, fields["x-oss-content-sha256"] ?? (isPresigned ? "UNSIGNED-PAYLOAD" : ""),
        ].joined(separator: "\n")
    }
}
