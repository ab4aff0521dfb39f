/// Links from a page to the files that it shows, relative to the page's directory.
struct ReportLinks: Sendable {
    /// The components of the page's directory.
    private let base: [Substring]

    init(page: String) {
        base = Array(Self.components(of: page).dropLast())
    }

    /// The link to a file; `nil` for standard input or output.
    func link(to path: String) -> String? {
        guard path != "-" else { return nil }
        let target = Self.components(of: path)
        let shared = zip(base, target.dropLast()).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: base.count - shared) + target[shared...].map(Self.encoded)
        return steps.joined(separator: "/")
    }

    private static func components(of path: String) -> [Substring] {
        ShrinkPlan.place(of: path).split(separator: "/")
    }

    /// A component with everything but unreserved characters as %XX (RFC 3986, section 2.3).
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
