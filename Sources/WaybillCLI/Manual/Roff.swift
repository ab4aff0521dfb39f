/// Formats text for man(7).
enum Roff {
    /// Escapes characters that have a meaning in roff.
    static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        // As code points (groff_char(7)), so that the page does not depend on the reader's input encoding.
        return text.unicodeScalars.map { $0.isASCII ? String($0) : "\\[u\(Self.number($0))]" }.joined()
    }

    /// Returns a line of text. A leading dot or apostrophe is escaped, because it would start a request.
    static func text(_ line: String) -> String {
        let escaped = escaped(line)
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    private static func number(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    /// Returns one argument of a request.
    static func quoted(_ text: String) -> String { "\"\(escaped(text).replacing("\"", with: "\"\""))\"" }

    /// Formats the paragraphs of a help text: indented lines stay unchanged, and headings in capitals become bold.
    static func paragraphs(_ text: String) -> [String] {
        var lines: [String] = []
        var isPreformatted = false
        for raw in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = String(raw)
            if line.allSatisfy({ $0 == " " }) {
                if isPreformatted { lines.append(".fi") }
                isPreformatted = false
                if let last = lines.last, last != ".PP" { lines.append(".PP") }
                continue
            }
            if line.hasPrefix("  ") != isPreformatted {
                isPreformatted.toggle()
                lines.append(isPreformatted ? ".nf" : ".fi")
            }
            lines.append(isHeading(line) ? ".B \(Roff.text(line))" : Roff.text(line))
            if isHeading(line) { lines.append(".br") }
        }
        if isPreformatted { lines.append(".fi") }
        while let last = lines.last, last == ".PP" { lines.removeLast() }
        return lines
    }

    private static func isHeading(_ line: String) -> Bool {
        line.hasSuffix(":") && line.dropLast().allSatisfy { $0 == " " || $0.isUppercase }
    }
}
