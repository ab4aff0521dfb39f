import Crypto
import FlyingFox
import Foundation

/// Authorizes a request by the date, the token and the signature of version 4 in its header.
struct RequestCheck {
    private let request: HTTPRequest
    private let resource: String
    private let fields: [String: String]

    init(_ request: HTTPRequest, resource: String) {
        self.request = request
        self.resource = resource
        fields = Dictionary(
            request.headers.map { ($0.key.rawValue.lowercased(), $0.value.trimmingCharacters(in: .whitespaces)) }
        ) { $1 }
    }

    func run(_ keys: KeyRing) async throws {
        let items = try authorization()
        guard let credential = items["Credential"], let provided = items["Signature"],
            let slash = credential.firstIndex(of: "/")
        else { throw ErrorResponse(.badRequest, "InvalidArgument", "Authorization lacks Credential or Signature.") }
        let scope = String(credential[credential.index(after: slash)...])
        let date = fields["x-oss-date"] ?? ""
        guard scope == "\(date.prefix(8))/\(keys.region)/oss/aliyun_v4_request" else {
            throw ErrorResponse(.badRequest, "InvalidArgument", "The scope \(scope) has another region or date.")
        }
        guard let time = SignatureV4.date(date), abs(time.timeIntervalSinceNow) < 900 else {
            throw ErrorResponse(
                .forbidden, "RequestTimeTooSkewed", "The date of the request differs by more than 15 minutes.")
        }
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

    private func authorization() throws -> [String: String] {
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
        return [
            request.method.rawValue, path, "", lines, additional, fields["x-oss-content-sha256"] ?? "",
        ].joined(separator: "\n")
    }
}
