/// The naming rules of OSS for buckets, keys and regions. They are checked before signing: otherwise the server would
/// report a mistake as a signature mismatch.
package enum OSSName {
    /// The maximum length of a key in UTF-8 bytes.
    static let longestKey = 1_023

    /// Throws unless the name has 3 to 63 lower-case letters, digits and hyphens, with no hyphen at either end.
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

    /// Throws unless the key has 1 to 1,023 bytes and does not begin with a slash or a backslash.
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

    /// Throws unless the region is an ID such as `cn-hangzhou`; the endpoint's `oss-cn-hangzhou` is rejected.
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
