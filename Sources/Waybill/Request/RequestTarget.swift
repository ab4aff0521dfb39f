/// The parts of an `http` or `https` URL that a queue needs: host, port and scheme.
///
/// Only URLs that would be misinterpreted are rejected here. Details of paths and queries are left to the transport.
struct RequestTarget: Sendable, Hashable {
    /// The host and port in lower case: `backend.example:443`.
    let hostAndPort: String
    /// Whether the scheme is `https`. Together with host and port, this is the origin (RFC 6454 section 4).
    let isSecure: Bool

    /// - Throws: ``UploadError`` with the code ``UploadError/Code/invalidURL``.
    init(_ url: String) throws(UploadError) {
        guard !url.isEmpty else { throw Self.refused("The URL is empty.") }
        // Bytewise, here and below: a combining mark after a delimiter would form another Character.
        let bytes = Array(url.utf8)
        guard !bytes.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw Self.refused("The URL contains a space or a control character. Percent-encode it.")
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            throw Self.refused(
                "\"\(Redaction.url(url))\" is not an absolute URL. Use a URL such as https://host/path.")
        }
        let scheme = Self.lowercased(bytes[..<colon])
        guard scheme == "http" || scheme == "https" else {
            throw Self.refused("The URL scheme must be http or https; got \"\(Redaction.escaped(scheme))\".")
        }
        let authority = bytes[(colon + 3)...].prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        // URL parsers interpret a backslash differently and would disagree about the host.
        guard !authority.contains(UInt8(ascii: "\\")) else {
            throw Self.refused("The host of the URL contains a backslash.")
        }
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        let (host, port) = try Self.split(at.map { authority[($0 + 1)...] } ?? authority)
        guard !host.isEmpty else { throw Self.refused("The URL has no host.") }
        isSecure = scheme == "https"
        hostAndPort = "\(Self.lowercased(host)):\(port ?? (isSecure ? 443 : 80))"
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func split(_ text: ArraySlice<UInt8>) throws(UploadError) -> (host: ArraySlice<UInt8>, port: Int?) {
        var rest = text
        if text.first == UInt8(ascii: "[") {
            guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else {
                throw refused("The IPv6 address of the URL has no closing bracket.")
            }
            rest = text[(bracket + 1)...]
        } else {
            rest = text[(text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex)...]
        }
        let host = text[..<rest.startIndex]
        guard let colon = rest.popFirst(), !(rest.isEmpty && colon == UInt8(ascii: ":")) else { return (host, nil) }
        guard colon == UInt8(ascii: ":"), let port = port(rest) else {
            throw refused("The port of the URL must be between 1 and 65535.")
        }
        return (host, port)
    }

    private static func port(_ digits: ArraySlice<UInt8>) -> Int? {
        var port = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            port = port * 10 + Int(digit - 0x30)
            if port > 65_535 { return nil }
        }
        return port > 0 ? port : nil
    }

    private static func refused(_ message: String) -> UploadError {
        UploadError(.invalidURL, message, phase: .waiting)
    }
}
