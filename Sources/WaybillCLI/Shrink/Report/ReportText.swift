import Waybill

/// Texts and numbers for the page and the lines.
enum ReportText {
    /// A text of foreign origin as HTML: as text between tags, never as markup. What would turn the direction of reading or
    /// can't be seen is spelled out.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in Redaction.escaped(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// `2.9 %`.
    static func share(_ part: Int, of whole: Int) -> String {
        let tenths = Int((Double(part) / Double(max(1, whole)) * 1_000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }

    /// `99.9 KiB`, with a no-break space.
    static func size(_ bytes: Int) -> String {
        ByteCount(bytes: Int64(bytes)).description.replacing(" ", with: "\u{A0}")
    }

    /// A number that is not negative, with so many digits behind the point.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let units = Int((value * Double(scale)).rounded())
        let fraction = String(units % scale)
        guard digits > 0 else { return "\(units)" }
        return "\(units / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
