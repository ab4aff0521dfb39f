/// How texts become bytes of a form, and which bytes are what.
enum FormText {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let lineBreak: [UInt8] = [carriageReturn, lineFeed]

    /// The UTF-8 of a text, with every CR, LF and CRLF turned into CRLF.
    static func withNormalLineBreaks(_ text: String) -> [UInt8] { withNormalLineBreaks(Array(text.utf8)) }

    /// Bytes with every CR, LF and CRLF turned into CRLF.
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

    /// Whether a byte is written as it is between the quotes of a header's parameter, whatever the compatibility.
    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "%"), UInt8(ascii: "\\"): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }

    /// The C0 controls and DEL.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Space and horizontal tab.
    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// The `tchar` of RFC 9110 section 5.6.2.
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
    /// Appends the UTF-8 of a text, in one piece.
    mutating func append(text: String) {
        let isDone: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe append(contentsOf: $0) }
        if isDone == nil { append(contentsOf: text.utf8) }
    }
}
