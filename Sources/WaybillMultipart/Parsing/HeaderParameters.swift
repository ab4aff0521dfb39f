/// A header value with parameters: `form-data; name="FILE"; filename="front.jpg"`.
struct HeaderParameters {
    /// The value before the first semicolon, in lower case.
    let value: String
    /// The parameters in order, with names in lower case.
    let parameters: [(name: String, value: [UInt8], isQuoted: Bool)]

    /// Parses a header value.
    ///
    /// Senders disagree on whether `\"` is an escaped quote or a backslash followed by the closing quote: browsers
    /// leave a backslash unchanged, others double it or put one before a quote. `\"` is therefore parsed as a quote
    /// wherever that yields a grammatical header. Only where it does not, a `\"` before a semicolon is parsed as the
    /// end of the value. A name cannot inject a parameter this way: a sender that escapes quotes leaves a `\"` after
    /// the one that ended the value too early, at a position where no quote is allowed.
    ///
    /// - Returns: `nil` for a value that violates the grammar of RFC 9110 section 5.6.6, with `\"` as the only escape.
    ///   Whitespace beside `=` and unquoted values that are not tokens are rejected too, because parsers interpret them
    ///   differently.
    init?(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        let value = Self.parseToken(&rest) { FormText.isToken($0) || $0 == UInt8(ascii: "/") }
        guard !value.isEmpty,
            let parameters = Self.parameters(rest, backslashMayEnd: false)
                ?? Self.parameters(rest, backslashMayEnd: true)
        else { return nil }
        self.value = Self.lowercased(value)
        self.parameters = parameters
    }

    private static func parameters(
        _ bytes: ArraySlice<UInt8>, backslashMayEnd: Bool
    ) -> [(name: String, value: [UInt8], isQuoted: Bool)]? {
        var rest = bytes
        var parameters: [(name: String, value: [UInt8], isQuoted: Bool)] = []
        while true {
            skipWhitespace(&rest)
            guard let semicolon = rest.popFirst() else { return parameters }
            guard semicolon == UInt8(ascii: ";") else { return nil }
            skipWhitespace(&rest)
            // Empty parameters are allowed: "a;" and "a;;b=c".
            if rest.isEmpty || rest.first == UInt8(ascii: ";") { continue }
            guard let parameter = parseParameter(&rest, backslashMayEnd) else { return nil }
            parameters.append(parameter)
        }
    }

    private static func parseParameter(
        _ rest: inout ArraySlice<UInt8>, _ backslashMayEnd: Bool
    ) -> (name: String, value: [UInt8], isQuoted: Bool)? {
        let name = parseToken(&rest, while: FormText.isToken)
        guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            return parseQuotedString(&rest, backslashMayEnd).map { (lowercased(name), $0, true) }
        }
        let value = parseToken(&rest, while: FormText.isToken)
        return value.isEmpty ? nil : (lowercased(name), Array(value), false)
    }

    /// Parses the rest of a quoted string. `\"` is a quote; any other backslash is literal, because browsers send
    /// Windows paths unescaped. A `\"` at the very end is a backslash and the closing quote.
    private static func parseQuotedString(_ rest: inout ArraySlice<UInt8>, _ backslashMayEnd: Bool) -> [UInt8]? {
        var result: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return result
            case UInt8(ascii: "\\") where rest.first == UInt8(ascii: "\""):
                rest.removeFirst()
                let next = rest.first { !FormText.isWhitespace($0) }
                if next == nil || (backslashMayEnd && next == UInt8(ascii: ";")) { return result + [byte] }
                result.append(UInt8(ascii: "\""))
            case UInt8(ascii: "%"): result.append(parseEscape(&rest) ?? byte)
            default: result.append(byte)
            }
        }
        return nil
    }

    // Decodes the three escapes of the WHATWG algorithm; any other `%` is literal.
    private static func parseEscape(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard rest.count >= 2 else { return nil }
        let digits = (rest[rest.startIndex], rest[rest.startIndex + 1] | 0x20)
        let decoded: UInt8? =
            switch digits {
            case (UInt8(ascii: "2"), UInt8(ascii: "2")): UInt8(ascii: "\"")
            case (UInt8(ascii: "0"), UInt8(ascii: "d")): FormText.carriageReturn
            case (UInt8(ascii: "0"), UInt8(ascii: "a")): FormText.lineFeed
            default: nil
            }
        if decoded != nil { rest.removeFirst(2) }
        return decoded
    }

    private static func parseToken(
        _ rest: inout ArraySlice<UInt8>, while isPart: (UInt8) -> Bool
    ) -> ArraySlice<UInt8> {
        let end = rest.firstIndex { !isPart($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private static func skipWhitespace(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop(while: FormText.isWhitespace)
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
