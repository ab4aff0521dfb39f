/// Writes JSON text directly where its exact bytes are signed or documented, so that no encoder chooses the format.
package enum JSONText {
    /// Returns a string as a JSON literal (RFC 8259 section 7), escaping only what RFC 8259 requires and the characters
    /// that `isEscaped` selects.
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
