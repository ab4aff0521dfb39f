/// The naming rules of OSS for buckets, keys and regions. They are checked before signing: otherwise the server would
/// report a mistake as a signature mismatch.
package enum OSSName {
    /// The maximum length of a key in UTF-8 bytes.
    static let longestKey = 1_023

    /// Throws unless the name has 3 to 63 lower-case letters, digits and hyphens, with no hyphen at either end.
    package static func checkBucket(_ bucket: String) throws(StoreError) {
        let bytes = Array(bucket.utf8)
        let isPlain = bytes.allSatisfy { S3Name.isLowerAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        guard (3...63).contains(bytes.count), isPlain, bytes.first != UInt8(ascii: "-"),
            bytes.last != UInt8(ascii: "-")
        else {
            throw StoreError(
                .invalidBucket,
                "The bucket name is invalid. Use 3 to 63 lower-case letters, digits and hyphens, with no hyphen at "
                    + "either end, and without endpoint, scheme or slash.")
        }
    }

    /// Throws unless the key has 1 to 1,023 bytes and does not begin with a slash or a backslash.
    package static func checkKey(_ key: String) throws(StoreError) {
        guard let first = key.utf8.first else {
            throw StoreError(.invalidKey, "The key is empty.")
        }
        guard key.utf8.count <= longestKey else {
            throw StoreError(
                .invalidKey,
                "The key has \(key.utf8.count) bytes, more than the limit of \(longestKey). Shorten it; a character "
                    + "beyond ASCII has two to four bytes.")
        }
        guard first != UInt8(ascii: "/"), first != UInt8(ascii: "\\") else {
            throw StoreError(.invalidKey, "The key begins with a slash or a backslash, which OSS rejects. Remove it.")
        }
    }

    /// Throws unless the region is an ID such as `cn-hangzhou`; the endpoint's `oss-cn-hangzhou` is rejected.
    package static func checkRegion(_ region: String) throws(StoreError) {
        let isPlain = region.utf8.allSatisfy { S3Name.isLowerAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        guard !region.isEmpty, isPlain else {
            throw StoreError(
                .invalidRegion,
                "The region is missing or invalid. Set a region ID such as cn-hangzhou, or use version 1 signatures.")
        }
        guard !region.utf8.starts(with: "oss-".utf8) else {
            throw StoreError(
                .invalidRegion,
                "The region ID begins with oss-. Remove that prefix: for the endpoint oss-cn-hangzhou.aliyuncs.com, "
                    + "the region is cn-hangzhou.")
        }
    }
}
