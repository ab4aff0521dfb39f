internal import Crypto
internal import FoundationEssentials

/// The signatures of OSS, computed from the published rules. No code is shared with the code under test.
enum OSSSignatures {
    // MARK: Version 1

    /// The query items that the signature covers, in addition to those that begin with `x-oss-`.
    static let subresources: Set<String> = Set(
        """
        acl append asyncFetch bucketArchiveDirectRead bucketInfo callback callback-var cleanRestoredObject cloudboxes cname comp \
        continuation-token cors delete encryption endTime group httpsConfig img inventory inventoryId lifecycle link live \
        location logging metaQuery objectInfo objectMeta partNumber policy position publicAccessBlock qos qosInfo qosRequester \
        redundancyTransition referer regionList replication replicationLocation replicationProgress requestPayment \
        requesterQosInfo resourceGroup resourcePool resourcePoolBuckets resourcePoolInfo responseHeader response-cache-control \
        response-content-disposition response-content-encoding response-content-language response-content-type \
        response-expires restore rtc security-token sequential startTime stat status style styleName symlink tagging \
        transferAcceleration accessPoint accessPointPolicy udf udfApplication udfApplicationLog udfId udfImage udfImageDesc \
        udfName uploadId uploads versionId versioning versions vod website withHashContext worm wormExtend wormId
        """.split(separator: " ").map(String.init))

    /// Returns the string to sign. The date is the `Date` or `x-oss-date` of the request, or the `Expires` of a
    /// presigned one.
    static func stringToSignV1(_ call: OSSCall, fields: [String: String], date: String) -> [UInt8] {
        var text = Array(
            "\(call.request.method)\n\(fields["content-md5"] ?? "")\n\(fields["content-type"] ?? "")\n\(date)\n".utf8)
        for name in fields.keys.filter({ $0.hasPrefix("x-oss-") }).sorted(by: { StoreText.precedes($0.utf8, $1.utf8) })
        {
            text += Array("\(name):\(fields[name] ?? "")\n".utf8)
        }
        text += Array("/\(call.bucket.map { "\($0)/" } ?? "")".utf8) + call.key
        let covered = call.query.filter { item in
            let name = item.name.text
            return subresources.contains(name) || name.hasPrefix("x-oss-")
        }
        for (index, item) in covered.sorted(by: { StoreText.precedes($0.name, $1.name) }).enumerated() {
            text += Array(index == 0 ? "?".utf8 : "&".utf8) + item.name
            if !item.value.isEmpty { text += Array("=".utf8) + item.value }
        }
        return text
    }

    static func signatureV1(_ stringToSign: [UInt8], secret: String) -> String {
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: stringToSign, using: SymmetricKey(data: Array(secret.utf8)))
        return Data(code).base64EncodedString()
    }

    // MARK: Version 4

    /// The day, region and product for which a signature of version 4 is valid.
    struct Scope: Equatable {
        var day: String
        var region: String
        var product: String

        /// Parses `day/region/product/aliyun_v4_request`.
        init?(_ text: some StringProtocol) {
            let parts = String(text).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 4, parts[3] == "aliyun_v4_request" else { return nil }
            (day, region, product) = (parts[0], parts[1], parts[2])
        }

        var text: String { "\(day)/\(region)/\(product)/aliyun_v4_request" }
    }

    static func canonicalRequest(
        _ call: OSSCall, fields: [String: String], additional: [String], without: Set<String>, payload: String
    ) -> String {
        let resource = "/\(call.bucket.map { "\($0)/" } ?? "")".utf8 + call.key
        let items = call.query.filter { !without.contains($0.name.text) }.map { item in
            (StoreText.encoded(item.name), StoreText.encoded(item.value))
        }
        let query = items.sorted { one, other in
            one.0 == other.0
                ? StoreText.precedes(one.1.utf8, other.1.utf8) : StoreText.precedes(one.0.utf8, other.0.utf8)
        }.map { $0.1.isEmpty ? $0.0 : "\($0.0)=\($0.1)" }.joined(separator: "&")
        let names = fields.keys.filter { name in
            name.hasPrefix("x-oss-") || ["content-type", "content-md5"].contains(name) || additional.contains(name)
        }.sorted { StoreText.precedes($0.utf8, $1.utf8) }
        let headers = names.map { "\($0):\(fields[$0] ?? "")\n" }.joined()
        return [
            call.request.method, StoreText.encoded(resource, also: "/"), query, headers,
            additional.joined(separator: ";"), payload,
        ].joined(separator: "\n")
    }

    static func stringToSignV4(_ canonicalRequest: String, date: String, scope: Scope) -> String {
        "OSS4-HMAC-SHA256\n\(date)\n\(scope.text)\n\(sha256(canonicalRequest))"
    }

    static func signatureV4(_ stringToSign: String, secret: String, scope: Scope) -> String {
        StoreText.hex(
            chain(
                Array("aliyun_v4\(secret)".utf8),
                [scope.day, scope.region, scope.product, "aliyun_v4_request", stringToSign]))
    }

    /// Returns the last of HMACs whose keys are each the HMAC before.
    static func chain(_ key: [UInt8], _ steps: [String]) -> [UInt8] {
        steps.reduce(key) { key, step in
            Array(HMAC<SHA256>.authenticationCode(for: Array(step.utf8), using: SymmetricKey(data: key)))
        }
    }

    static func sha256(_ text: String) -> String { StoreText.hex(SHA256.hash(data: Array(text.utf8))) }
}
