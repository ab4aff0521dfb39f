/// Splits the value of a `-F` argument into words in the same way as curl's tool (`tool_formparse.c`): whitespace
/// around a word is removed, and a word in double quotes may contain `\"` and `\\`.
struct FormScanner {
    /// An error in an argument. The message continues "the value of NAME …".
    struct Problem: Error, Hashable {
        let message: String
        init(_ message: String) { self.message = message }
    }

    private(set) var rest: Substring.UnicodeScalarView
    /// The character that ends a word, in addition to `;`.
    private let stop: Unicode.Scalar?

    init(_ text: Substring, stop: Unicode.Scalar?) {
        rest = text.unicodeScalars
        self.stop = stop
    }

    /// Returns the next word, which may be empty.
    mutating func word() throws(Problem) -> String {
        skipWhitespace()
        if rest.first == "\"" { return try quotedWord() }
        return Self.trimmed(upToSeparator())
    }

    /// Returns everything up to the next separator, without trailing whitespace.
    mutating func raw() -> Substring.UnicodeScalarView {
        skipWhitespace()
        var text = upToSeparator()
        while let last = text.last, Self.isWhitespace(last) { text.removeLast() }
        return text
    }

    /// Consumes a character if it is next.
    mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    /// Consumes a lowercase prefix if it is next, ignoring case.
    mutating func consumePrefix(_ prefix: String) -> Bool {
        var tail = rest
        for scalar in prefix.unicodeScalars {
            guard let next = tail.popFirst(), next == scalar || next.properties.lowercaseMapping == String(scalar)
            else {
                return false
            }
        }
        rest = tail
        return true
    }

    mutating func skipWhitespace() {
        while let next = rest.first, Self.isWhitespace(next) { rest.removeFirst() }
    }

    private mutating func upToSeparator() -> Substring.UnicodeScalarView {
        let end = rest.firstIndex { isSeparator($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private mutating func quotedWord() throws(Problem) -> String {
        rest.removeFirst()
        var word = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            switch next {
            case "\"":
                skipWhitespace()
                guard rest.first.map(isSeparator) ?? true else {
                    throw Problem("has text after its closing quote")
                }
                return String(word)
            case "\\" where rest.first == "\"" || rest.first == "\\":
                word.append(rest.removeFirst())
            default:
                word.append(next)
            }
        }
        throw Problem("has an unclosed quote")
    }

    private func isSeparator(_ scalar: Unicode.Scalar) -> Bool { scalar == ";" || scalar == stop }

    private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
        var text = text
        while let last = text.last, isWhitespace(last) { text.removeLast() }
        return String(text)
    }

    private static func isWhitespace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || (0x09...0x0D).contains(scalar.value)
    }
}

/// The parameters after a value: `;type=…` and `;filename=…`.
struct FormParameters: Hashable {
    var contentType: String?
    var fileName: String?

    /// Parses parameters up to the end or the next file.
    init(_ scanner: inout FormScanner) throws(FormScanner.Problem) {
        while scanner.consume(";") {
            scanner.skipWhitespace()
            if contentType == nil, scanner.consumePrefix("type=") {
                contentType = try Self.contentType(scanner.raw())
            } else if scanner.consumePrefix("filename=") {
                guard fileName == nil else { throw .init("has two file names") }
                fileName = try scanner.word()
            } else if scanner.consumePrefix("headers=") || scanner.consumePrefix("encoder=") {
                throw .init("has ;headers= or ;encoder=, which are not supported")
            } else {
                try extendContentType(with: scanner.raw())
            }
        }
    }

    /// Adds a parameter to the content type: `text/plain; charset=utf-8`.
    private mutating func extendContentType(with text: Substring.UnicodeScalarView) throws(FormScanner.Problem) {
        guard !text.isEmpty else { throw .init("ends in \";\", or has two in a row") }
        guard let type = contentType else {
            throw .init("has a \";\" without type= or filename=. Put the text in double quotes")
        }
        contentType = "\(type); \(String(text))"
    }

    private static func contentType(_ text: Substring.UnicodeScalarView) throws(FormScanner.Problem) -> String {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ half in !half.isEmpty && !half.contains(" ") }) else {
            throw .init("has an invalid type=. Write it like image/jpeg")
        }
        return String(text)
    }
}
