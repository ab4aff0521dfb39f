/// Conversion of text to the bytes of a form, and character classes.
enum FormText {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let lineBreak: [UInt8] = [carriageReturn, lineFeed]

    /// Returns the UTF-8 of a string with every CR, LF and CRLF replaced by CRLF.
    static func withNormalLineBreaks(_ text: String) -> [UInt8] { withNormalLineBreaks(Array(text.utf8)) }

    /// Returns the bytes with every CR, LF and CRLF replaced by CRLF.
    static func withNormalLineBreaks(_ source: [UInt8]) -> [UInt8] {
        guard source.contains(where: { $0 == lineFeed || $0 == carriageReturn }) else { return source }
        var result: [UInt8] = []
        result.reserveCapacity(source.count + 16)
        var previous: UInt8 = 0
        for byte in source {
            switch byte {
            case carriageReturn: result += lineBreak
            case lineFeed where previous == carriageReturn: break
            case lineFeed: result += lineBreak
            default: result.append(byte)
            }
            previous = byte
        }
        return result
    }

    /// Whether a byte needs no escaping in a quoted header parameter in any compatibility style.
    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "%"), UInt8(ascii: "\\"): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }

    /// Whether a byte is a C0 control or DEL.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Whether a byte is a space or horizontal tab.
    static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether a byte is a `tchar` of RFC 9110 section 5.6.2.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension [UInt8] {
    /// Appends the UTF-8 of a string as one block.
    mutating func append(text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe append(contentsOf: $0) }
        if isDone == nil { append(contentsOf: text.utf8) }
    }
}
