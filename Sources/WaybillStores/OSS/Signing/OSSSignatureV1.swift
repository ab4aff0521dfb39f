import FoundationEssentials
import HTTPTypes
import WaybillCore

/// Version 1 of OSS's signatures: HMAC-SHA1 over method, digest, type, date, fields and resource.
enum OSSSignatureV1 {
    /// Returns the request with date and token, in header fields or in the query of a presigned URL.
    static func dated(
        _ request: OSSRequestToSign, identity: OSSSigningIdentity, date: Date, seconds: Int?
    ) -> OSSRequestToSign {
        var request = request
        request.query.removeAll { ownQuery.contains(Array($0.name.utf8)) }
        request.headers[.authorization] = nil
        request.headers[.ossSecurityToken] = nil
        if let seconds {
            request.query.append(StoreQueryItem("OSSAccessKeyId", identity.accessKeyID))
            request.query.append(StoreQueryItem("Expires", "\(StoreDate.seconds(date) + seconds)"))
            if let token = identity.securityToken {
                request.query.append(StoreQueryItem("security-token", token.value))
            }
            return request
        }
        // Keep a field `x-oss-date`, which is meant for clients that can't send `Date`, and update its value.
        request.headers[request.headers[.ossDate] == nil ? .date : .ossDate] = StoreDate.http(date)
        if let token = identity.securityToken { request.headers[.ossSecurityToken] = token.value }
        return request
    }

    /// Returns the date in the string to sign; for a presigned URL, the Unix time at which it expires.
    static func dateText(of request: OSSRequestToSign, date: Date, seconds: Int?) -> String {
        seconds.map { "\(StoreDate.seconds(date) + $0)" } ?? StoreDate.http(date)
    }

    static func stringToSign(_ request: OSSRequestToSign, date: String) -> String {
        let fields = request.fieldNames.filter { $0.utf8.starts(with: "x-oss-".utf8) }.sorted()
            .compactMap { HTTPField.Name($0) }
            .map { "\($0.canonicalName):\(request.headers.joinedValue(of: $0))\n" }.joined()
        return
            "\(request.method.rawValue)\n\(request.headers.joinedValue(of: .contentMD5))\n\(request.headers.joinedValue(of: .contentType))\n"
            + "\(date)\n\(fields)\(canonicalResource(request))"
    }

    static func signature(_ stringToSign: String, secret: Secret) -> String {
        MessageAuthentication.base64(MessageAuthentication.sha1(key: secret.value.utf8, stringToSign))
    }

    /// Returns `/bucket/key?uploadId=…&partNumber=…`, not percent-encoded.
    static func canonicalResource(_ request: OSSRequestToSign) -> String {
        let signed = request.query.filter { isSigned($0.name) }.sorted { first, second in
            Array(first.name.utf8).lexicographicallyPrecedes(Array(second.name.utf8))
        }
        guard !signed.isEmpty else { return request.resource }
        return "\(request.resource)?" + signed.map { StoreQueryItem.pair($0.name, $0.value) }.joined(separator: "&")
    }

    /// Whether a query item is part of the canonical resource; the others are not signed.
    static func isSigned(_ name: String) -> Bool {
        name.utf8.starts(with: "x-oss-".utf8) || subresources.contains(Array(name.utf8))
    }

    private static let ownQuery: Set<[UInt8]> = Set(
        ["OSSAccessKeyId", "Expires", "Signature", "security-token"].map { Array($0.utf8) })

    /// The names of signed query items, as bytes: canonically equivalent strings would be equal in Swift.
    private static let subresources: Set<[UInt8]> = Set(
        """
        accessPoint accessPointPolicy acl append asyncFetch bucketArchiveDirectRead bucketInfo callback callback-var \
        cleanRestoredObject cloudboxes cname comp continuation-token cors delete encryption endTime group httpsConfig img \
        inventory inventoryId lifecycle link live location logging metaQuery objectInfo objectMeta partNumber policy \
        position publicAccessBlock qos qosInfo qosRequester redundancyTransition referer regionList replication \
        replicationLocation replicationProgress requestPayment requesterQosInfo resourceGroup resourcePool \
        resourcePoolBuckets resourcePoolInfo response-cache-control response-content-disposition \
        response-content-encoding response-content-language response-content-type response-expires responseHeader \
        restore rtc security-token sequential startTime stat status style styleName symlink tagging \
        transferAcceleration udf udfApplication udfApplicationLog udfId udfImage udfImageDesc udfName uploadId uploads \
        versionId versioning versions vod website withHashContext worm wormExtend wormId
        """.split(separator: " ").map { Array($0.utf8) })
}

extension HTTPField.Name {
    static let contentMD5 = Self.ours("Content-MD5")
    static let ossDate = Self.ours("x-oss-date")
    static let ossSecurityToken = Self.ours("x-oss-security-token")
    static let ossContentSHA256 = Self.ours("x-oss-content-sha256")

    /// Returns a field name from a literal that is known to be valid.
    private static func ours(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("Invalid header field name.") }
        return name
    }
}
