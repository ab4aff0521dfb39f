import FlyingFox
import Foundation
import WaybillTesting

/// A form with a signed policy, as an app without a key posts it.
struct PostedForm {
    private(set) var fields: [String: String] = [:]
    private(set) var file: [UInt8] = []
    private(set) var fileType = ""

    init(_ body: [UInt8], contentType: String) throws {
        let form = try RecordedForm(body: body, contentType: contentType)
        for part in form.parts {
            if part.name == "file" {
                file = part.bytes
                fileType = part.contentType ?? "application/octet-stream"
                // Parts after the file are ignored.
                return
            }
            fields[part.name] = String(decoding: part.bytes, as: UTF8.self)
        }
        throw ErrorResponse(.badRequest, "IncorrectNumberOfFilesInPOSTRequest", "The form has no file.")
    }

    /// Verifies the signature and the policy.
    ///
    /// - Returns: The key of the object.
    func check(_ keys: KeyRing, bucket: String) async throws -> String {
        guard let policy = fields["policy"], let provided = fields["x-oss-signature"], let key = fields["key"],
            let credential = fields["x-oss-credential"], let slash = credential.firstIndex(of: "/")
        else { throw ErrorResponse(.badRequest, "InvalidArgument", "The form lacks the key or a signature field.") }
        guard let known = await keys.keys(String(credential[..<slash])), known.token == fields["x-oss-security-token"]
        else { throw ErrorResponse(.forbidden, "InvalidAccessKeyId", "The access key ID does not exist.") }
        let scope = String(credential[credential.index(after: slash)...])
        guard scope == "\((fields["x-oss-date"] ?? "").prefix(8))/\(keys.region)/oss/aliyun_v4_request",
            provided == SignatureV4.signature(policy, secret: known.secret, scope: scope)
        else { throw ErrorResponse(.forbidden, "SignatureDoesNotMatch", "The signature does not match.") }
        try Policy(encoded: policy).check(fields, bucket: bucket, fileSize: file.count)
        return key
    }
}

/// A policy with an expiration and conditions for fields.
private struct Policy {
    private let conditions: [Any]

    init(encoded: String) throws {
        // `\$` means a dollar sign to the store and is invalid JSON.
        let text = Data(base64Encoded: encoded).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let json = try? JSONSerialization.jsonObject(with: Data(text.replacing("\\$", with: "$").utf8))
        guard let policy = json as? [String: Any], let end = policy["expiration"] as? String,
            let conditions = policy["conditions"] as? [Any]
        else {
            throw ErrorResponse(
                .badRequest, "InvalidPolicyDocument", "The policy is not a JSON object with expiration and conditions.")
        }
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        guard let date = format.date(from: end), date > Date() else {
            throw ErrorResponse(.forbidden, "AccessDenied", "Invalid according to Policy: Policy expired.")
        }
        self.conditions = conditions
    }

    func check(_ fields: [String: String], bucket: String, fileSize: Int) throws {
        var values = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }) { $1 }
        values["bucket"] = bucket
        for condition in conditions {
            guard isMet(condition, values, fileSize) else {
                throw ErrorResponse(.forbidden, "AccessDenied", "Invalid according to Policy: Policy Condition failed.")
            }
        }
    }

    private func isMet(_ condition: Any, _ values: [String: String], _ fileSize: Int) -> Bool {
        if let pairs = condition as? [String: String] {
            return pairs.allSatisfy { values[$0.key.lowercased()] == $0.value }
        }
        guard let items = condition as? [Any], items.count == 3, let type = items[0] as? String else { return false }
        if type == "content-length-range" {
            guard let minimum = items[1] as? Int, let maximum = items[2] as? Int else { return false }
            return (minimum...max(minimum, maximum)).contains(fileSize)
        }
        guard let name = items[1] as? String, name.hasPrefix("$"),
            let value = values[name.dropFirst().lowercased()]
        else { return false }
        switch (type, items[2]) {
        case ("eq", let wanted as String): return value == wanted
        case ("starts-with", let prefix as String): return value.hasPrefix(prefix)
        case ("in", let list as [String]): return list.contains(value)
        case ("not-in", let list as [String]): return !list.contains(value)
        default: return false
        }
    }
}
