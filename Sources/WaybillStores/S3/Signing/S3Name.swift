/// The naming rules that S3 and compatible stores share. The stores check their own, stricter rules.
package enum S3Name {
    /// The maximum length of a key in UTF-8 bytes.
    static let longestKey = 1_024

    /// Throws unless the name has 3 to 63 lower-case letters, digits, dots and hyphens, with a letter or digit at both
    /// ends. Dots next to each other or to a hyphen would be an empty label of a host name.
    package static func checkBucket(_ bucket: String) throws(StoreError) {
        let bytes = Array(bucket.utf8)
        let isPlain = bytes.allSatisfy { isLowerAlphanumeric($0) || ".-".utf8.contains($0) }
        let ends = [bytes.first, bytes.last].compactMap(\.self).allSatisfy(isLowerAlphanumeric)
        guard (3...63).contains(bytes.count), isPlain, ends, !bucket.contains("..") else {
            throw StoreError(
                .invalidBucket,
                "The bucket name is invalid. Use 3 to 63 lower-case letters, digits, dots and hyphens, with a letter "
                    + "or digit at both ends, and without endpoint, scheme or slash.")
        }
    }

    /// Throws unless the key has 1 to 1,024 bytes.
    package static func checkKey(_ key: String) throws(StoreError) {
        guard (1...longestKey).contains(key.utf8.count) else {
            throw StoreError(
                .invalidKey,
                "The key must have between 1 and \(longestKey) bytes; got \(key.utf8.count). A character beyond ASCII "
                    + "has two to four bytes.")
        }
    }

    /// Throws unless the region consists of letters, digits, dots, hyphens and underscores.
    static func checkRegion(_ region: String) throws(StoreError) {
        let isPlain = region.utf8.allSatisfy { byte in
            isLowerAlphanumeric(byte) || (0x41...0x5A).contains(byte) || ".-_".utf8.contains(byte)
        }
        guard !region.isEmpty, isPlain, region.utf8.count <= 64 else {
            throw StoreError(
                .invalidRegion,
                "The region is missing or invalid. Set the region of the bucket, such as eu-west-1, or the name that "
                    + "the store expects instead, such as auto.")
        }
    }

    static func isLowerAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
