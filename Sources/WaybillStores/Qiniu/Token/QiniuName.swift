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
            ? nil : "a bucket's name has 1 to 63 letters, digits, - and _: not \(JSONText.quoted(name))"
    }

    /// Returns why an object can't have a key, or `nil`. The limit is 749 bytes; a NUL would truncate the key in some
    /// clients.
    static func problem(ofKey key: String) -> String? {
        let count = key.utf8.count
        if count >= 750 { return "a key of \(count) bytes is too long: Qiniu takes fewer than 750. Shorten it" }
        if key.utf8.contains(0) { return "a key can't contain a NUL" }
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
