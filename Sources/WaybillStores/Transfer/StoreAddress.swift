/// The address of a store, parsed from the text of a configuration. The default scheme is HTTPS.
struct StoreAddress: Sendable, Hashable {
    /// `https` or `http`.
    let scheme: String
    /// The host name, with the port if there is one.
    let host: String
    /// The start of the path of every URL: empty, or a slash and more.
    let path: String

    var text: String { "\(scheme)://\(host)\(path)" }

    var isEncrypted: Bool { scheme == "https" }

    /// The host name without its port.
    var name: String { Self.name(of: host) }

    /// Whether the host is an IP address, to which no bucket can be prefixed.
    var isNumeric: Bool {
        if host.hasPrefix("[") { return true }
        let numbers = name.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// Parses an address.
    ///
    /// - Throws: ``StoreError/Code/invalidEndpoint``. The message suggests an address like `example`.
    init(_ text: String, like example: String) throws(StoreError) {
        var rest = Substring(text)
        var scheme = "https"
        if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: "://".utf8) {
            scheme = text[..<colon].lowercased()
            rest = text[text.utf8.index(colon, offsetBy: 3)...]
        }
        guard scheme == "https" || scheme == "http" else {
            throw StoreError(
                .invalidEndpoint,
                "The scheme of the endpoint \(StoreError.shown(text)) is neither https nor http.")
        }
        let host = rest.prefix { $0 != "/" }.lowercased()
        var path = String(rest.dropFirst(host.utf8.count))
        while path.hasSuffix("/") { path.removeLast() }
        let name = Self.name(of: host)
        let bad = rest.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || "@?#\\\"<>%".utf8.contains($0) }
        guard !name.isEmpty, !bad, !name.hasPrefix("."), !path.contains("//"),
            Self.isPort(host.dropFirst(name.utf8.count))
        else {
            throw StoreError(
                .invalidEndpoint,
                "The endpoint \(StoreError.shown(text)) is not a valid host. Specify it like \(example), without "
                    + "bucket, user and query.")
        }
        (self.scheme, self.host, self.path) = (scheme, host, path)
    }

    /// Returns the host without its port.
    static func name(of host: String) -> String {
        if host.hasPrefix("["), let bracket = host.firstIndex(of: "]") { return String(host[...bracket]) }
        return String(host.prefix { $0 != ":" })
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && (Int(text.dropFirst()).map { (1...65_535).contains($0) } ?? false)
    }
}
