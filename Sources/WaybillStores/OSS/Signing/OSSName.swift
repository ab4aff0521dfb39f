/// What OSS lets buckets, keys and regions be called. Asked before anything is signed, so that a slip is told here and not
/// by a server as a signature that does not match.
package enum OSSName {
    /// The longest key in bytes of UTF-8.
    static let longestKey = 1_023

    /// 3 to 63 small letters, digits and hyphens, none of these at an end.
    package static func checkBucket(_ bucket: String) throws(StoreError) {
        let bytes = Array(bucket.utf8)
        let isPlain = bytes.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard (3...63).contains(bytes.count), isPlain, bytes.first != UInt8(ascii: "-"),
            bytes.last != UInt8(ascii: "-")
        else {
            throw StoreError(
                .invalidBucket,
                "a bucket's name has 3 to 63 small letters, digits and hyphens, and none of these at an end: give the name "
                    + "alone, without endpoint, scheme or slash")
        }
    }

    /// 1 to 1,023 bytes that do not begin with a slash or a backslash.
    package static func checkKey(_ key: String) throws(StoreError) {
        guard let first = key.utf8.first else {
            throw StoreError(.invalidKey, "the key is empty: name the object")
        }
        guard key.utf8.count <= longestKey else {
            throw StoreError(
                .invalidKey,
                "the key has \(key.utf8.count) bytes, and OSS takes \(longestKey): shorten it; a character beyond ASCII has two "
                    + "to four bytes")
        }
        guard first != UInt8(ascii: "/"), first != UInt8(ascii: "\\") else {
            throw StoreError(.invalidKey, "the key begins with a slash or a backslash, which OSS refuses: leave it out")
        }
    }

    /// An id such as `cn-hangzhou`, which is not the endpoint's `oss-cn-hangzhou`.
    package static func checkRegion(_ region: String) throws(StoreError) {
        let isPlain = region.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
        guard !region.isEmpty, isPlain else {
            throw StoreError(
                .invalidRegion,
                "signatures of version 4 hold the region: give its id, such as cn-hangzhou, or sign with version 1")
        }
        guard !region.utf8.starts(with: "oss-".utf8) else {
            throw StoreError(
                .invalidRegion,
                "a region's id has no oss- in front: for an endpoint oss-cn-hangzhou.aliyuncs.com it is cn-hangzhou")
        }
    }
}
