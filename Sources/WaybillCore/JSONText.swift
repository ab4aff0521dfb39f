/// JSON that is written by hand, because its bytes are signed or promised: no encoder decides its form.
package enum JSONText {
    /// Returns a string as JSON (RFC 8259 section 7). Only what must be escaped is, and what `isEscaped` asks for.
    package static func quoted(
        _ text: String, escaping isEscaped: (Unicode.Scalar) -> Bool = { $0 == "\u{7F}" }
    ) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar < " " || isEscaped(scalar): for unit in String(scalar).utf16 { result += escape(unit) }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
}
