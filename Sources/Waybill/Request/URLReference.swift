/// A URI reference, split into its five components, which can be recombined (RFC 3986 sections 3, 4.1 and 5).
///
/// It only processes text: it decodes nothing and validates neither scheme nor host. This is what a `Location` field
/// needs, which may be relative to the URL of the request (RFC 9110 section 10.2.2).
struct URLReference: Sendable, Hashable, CustomStringConvertible {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    var fragment: String?

    /// Splits a text like the regular expression of RFC 3986 appendix B. Every text is a valid reference.
    ///
    /// Bytewise, because a combining mark after a delimiter would form another Character.
    init(_ text: some StringProtocol) {
        var rest = Substring(text)
        fragment = Self.cut(&rest, from: UInt8(ascii: "#"))
        query = Self.cut(&rest, from: UInt8(ascii: "?"))
        if let colon = rest.utf8.firstIndex(where: { ":/".utf8.contains($0) }),
            rest.utf8[colon] == UInt8(ascii: ":"), Self.isScheme(rest[..<colon])
        {
            scheme = String(rest[..<colon])
            rest = rest[rest.utf8.index(after: colon)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            let name = rest.utf8.dropFirst(2)
            let end = name.firstIndex(of: Self.slash) ?? name.endIndex
            authority = String(Substring(name[..<end]))
            rest = Substring(name[end...])
        }
        path = String(rest)
    }

    /// The components joined (section 5.3).
    var description: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// Returns the reference resolved against an absolute URL (section 5.2.2, strict).
    func resolved(against base: URLReference) -> URLReference {
        var target = self
        target.path = Self.withoutDots(path)
        if scheme != nil { return target }
        target.scheme = base.scheme
        if authority != nil { return target }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if !path.hasPrefix("/") {
            target.path = Self.withoutDots(base.merged(with: path))
        }
        return target
    }

    /// Merges paths (section 5.2.3).
    private func merged(with relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.utf8.lastIndex(of: Self.slash) else { return relative }
        return path[..<path.utf8.index(after: slash)] + relative
    }

    /// Removes dot segments from a path (section 5.2.4).
    private static func withoutDots(_ path: String) -> String {
        var input = Substring(path)
        var output: [Substring] = []
        while !input.isEmpty {
            if input.hasPrefix("../") {
                input = input.dropFirst(3)
            } else if input.hasPrefix("./") || input.hasPrefix("/./") {
                input = input.dropFirst(2)
            } else if input == "/." {
                input = "/"
            } else if input.hasPrefix("/../") || input == "/.." {
                input = input == "/.." ? "/" : input.dropFirst(3)
                _ = output.popLast()
            } else if input == "." || input == ".." {
                input = ""
            } else {
                let end = input.dropFirst().firstIndex(of: "/") ?? input.endIndex
                output.append(input[..<end])
                input = input[end...]
            }
        }
        return output.joined()
    }

    private static let slash = UInt8(ascii: "/")

    private static func cut(_ text: inout Substring, from mark: UInt8) -> String? {
        guard let place = text.utf8.firstIndex(of: mark) else { return nil }
        defer { text = text[..<place] }
        return String(text[text.utf8.index(after: place)...])
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

extension URLReference {
    /// Creates a reference from a header field. Bytes that a server should have encoded (spaces, non-ASCII) are
    /// percent-encoded, as browsers do.
    init(location: String) {
        var text = ""
        for byte in location.utf8 {
            if byte > 0x20, byte < 0x7F {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        self.init(text)
    }

    /// The user information before the host.
    var userInformation: String? {
        get {
            guard let authority, let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
            return String(authority[..<at])
        }
        set {
            guard let authority else { return }
            let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
            let host = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority[...]
            self.authority = (newValue.map { $0 + "@" } ?? "") + host
        }
    }
}
