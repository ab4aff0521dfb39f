import WaybillCore

/// The naming rules of buckets and keys. The empty string is a valid key; `nil` means no key.
package enum QiniuName {
    /// Returns why a bucket can't have a name, or `nil`.
    static func problem(ofBucket name: String) -> String? {
        let bytes = name.utf8
        let isPlain = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return (1...63).contains(bytes.count) && isPlain
            ? nil
            : "The bucket name \(JSONText.quoted(name)) is invalid. Use 1 to 63 letters, digits, hyphens, "
                + "underscores and dots."
    }

    /// Returns why an object can't have a key, or `nil`. The limit is 749 bytes; a NUL would truncate the key in some
    /// clients.
    static func problem(ofKey key: String) -> String? {
        let count = key.utf8.count
        if count >= 750 { return "The key has \(count) bytes, more than the limit of 749. Shorten it." }
        if key.utf8.contains(0) { return "The key contains a NUL character. Remove it." }
        return nil
    }

    /// Throws ``StoreError/Code/invalidArgument`` for an invalid bucket name.
    package static func check(bucket: String) throws(StoreError) {
        if let problem = problem(ofBucket: bucket) { throw StoreError(.invalidArgument, problem) }
    }

    /// Throws ``StoreError/Code/invalidArgument`` for an invalid key.
    package static func check(key: String?) throws(StoreError) {
        if let problem = key.flatMap(problem(ofKey:)) { throw StoreError(.invalidArgument, problem) }
    }
}
