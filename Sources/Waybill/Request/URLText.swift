/// Normalizes URLs from user input and programs: percent-encodes them once and resolves them against a base URL.
///
/// These are encoded: spaces, non-ASCII characters (as their UTF-8 bytes), the characters that RFC 3986 allows nowhere,
/// and a `%` that does not begin a `%XX`. Existing percent-encoding is preserved, so the encoding is idempotent. A
/// non-ASCII host is left to libcurl, which implements IDNA.
enum URLText {
    /// A component of a URL. Each allows a different set of delimiters.
    enum Part {
        case userInformation
        case path
        case query
    }

    /// Returns an absolute URL that is ready to be sent. The fragment is removed, because fragments are never sent.
    ///
    /// - Parameters:
    ///   - location: The location of the upload: an absolute URL, or one relative to the base (RFC 3986 section 5.2).
    ///   - base: The base URL of the configuration, if any.
    /// - Returns: The URL.
    /// - Throws: ``UploadError/Code/invalidURL``.
    static func absolute(_ location: String, base: String?) throws(UploadError) -> String {
        guard let base else { return isReady(location) ? location : try normalised(location) }
        let foundation = URLReference(try normalised(base))
        guard !base.utf8.contains(UInt8(ascii: "?")), !base.utf8.contains(UInt8(ascii: "#")) else {
            throw refused(
                "The base URL \(Redaction.url(base)) has a query or a fragment, which would be lost. Remove it, or add "
                    + "it to each location.")
        }
        try check(location)
        return try normalised(URLReference(location).resolved(against: foundation).description)
    }

    /// Returns an absolute URL percent-encoded once.
    static func normalised(_ text: String) throws(UploadError) -> String {
        try check(text)
        var url = URLReference(text)
        guard url.scheme != nil, let authority = url.authority else {
            // `RequestTarget` reports which component is missing.
            _ = try RequestTarget(text)
            return text
        }
        let user = url.userInformation
        guard !authority.utf8.dropFirst(user.map { $0.utf8.count + 1 } ?? 0).contains(0x20) else {
            throw refused("The host of the URL contains a space. Check for a missing slash.")
        }
        // Encoding a backslash would hide that URL parsers disagree about the host.
        guard !authority.utf8.contains(UInt8(ascii: "\\")) else {
            throw refused("The host of the URL contains a backslash.")
        }
        if let user { url.userInformation = encoded(user, as: .userInformation) }
        url.path = encoded(url.path, as: .path)
        url.query = url.query.map { encoded($0, as: .query) }
        url.fragment = nil
        let result = url.description
        _ = try RequestTarget(result)
        return result
    }

    /// Returns whether a text needs no changes, as most do, so that parsing is skipped.
    private static func isReady(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 != percent && isAllowed($0, in: .query) }
    }

    /// Rejects characters that no URL contains, and spaces at the ends that are copy-and-paste errors.
    private static func check(_ text: String) throws(UploadError) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw refused("The URL contains a control character. Percent-encode it, or check for a line break.")
        }
        guard text.utf8.first != 0x20, text.utf8.last != 0x20 else {
            throw refused("The URL begins or ends with a space. Remove it, or encode it as %20.")
        }
    }

    /// Returns the text with all characters encoded that are not allowed in the component.
    static func encoded(_ text: String, as part: Part) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let isTriplet =
                byte == percent && index + 2 < bytes.count && isHexadecimal(bytes[index + 1])
                && isHexadecimal(bytes[index + 2])
            if isTriplet || byte != percent && isAllowed(byte, in: part) {
                result.append(byte)
            } else {
                append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns a name or a value for a query: all except the unreserved characters of RFC 3986 section 2.3 are encoded.
    static func component(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            if isAlphanumeric(byte) || "-._~".utf8.contains(byte) {
                result.append(byte)
            } else {
                append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8, in part: Part) -> Bool {
        switch byte {
        case ...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"),
            UInt8(ascii: "#"):
            return false
        default: break
        }
        switch part {
        case .userInformation: return !"/?@[]".utf8.contains(byte)
        // Brackets are not allowed by the grammar, but servers expect them unencoded: `ids[]=1`.
        case .path: return byte != UInt8(ascii: "?")
        case .query: return true
        }
    }

    private static let percent = UInt8(ascii: "%")

    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        bytes += [percent, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    private static func refused(_ message: String) -> UploadError {
        UploadError(.invalidURL, message, phase: .waiting)
    }
}
