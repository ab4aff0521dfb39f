import FoundationEssentials

/// Base64 with `-` and `_`, padded (RFC 4648 section 5): Qiniu's encoding of keys, policies, signatures and hashes.
enum URLSafeBase64 {
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString().utf8.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a string, with or without padding; `nil` if it is invalid.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var standard = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        if !standard.contains(UInt8(ascii: "=")) {
            standard += [UInt8](repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4)
        }
        return Data(base64Encoded: Data(standard)).map(Array.init)
    }
}
