import Waybill

/// Formats text and numbers for the HTML report.
enum ReportText {
    /// Escapes untrusted text for HTML. Characters that are invisible or change the reading direction are replaced by
    /// visible escapes.
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

    /// Returns a part of a whole as a percentage, such as `2.9 %`.
    static func share(_ part: Int, of whole: Int) -> String {
        let tenths = Int((Double(part) / Double(max(1, whole)) * 1_000).rounded())
        return "\(tenths / 10).\(tenths % 10) %"
    }

    /// Returns a size with a no-break space, such as `99.9 KiB`.
    static func size(_ bytes: Int) -> String {
        Figures.size(bytes).replacing(" ", with: "\u{A0}")
    }

    /// Formats a non-negative number with the given number of fraction digits.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let units = Int((value * Double(scale)).rounded())
        let fraction = String(units % scale)
        guard digits > 0 else { return "\(units)" }
        return "\(units / scale)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

/// Creates links from the report to the images that it shows, relative to the directory of the report.
struct ReportLinks: Sendable {
    /// The path components of the report's directory.
    private let base: [Substring]

    init(page: String) {
        base = Array(Self.components(of: page).dropLast())
    }

    /// Returns the link to a file; `nil` for standard input or output.
    func link(to path: String) -> String? {
        guard path != "-" else { return nil }
        let target = Self.components(of: path)
        let shared = zip(base, target.dropLast()).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: base.count - shared) + target[shared...].map(Self.encoded)
        return steps.joined(separator: "/")
    }

    private static func components(of path: String) -> [Substring] {
        ShrinkPlan.canonicalPath(of: path).split(separator: "/")
    }

    /// Percent-encodes a component, except unreserved characters (RFC 3986, section 2.3).
    private static func encoded(_ component: Substring) -> String {
        component.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }
}
