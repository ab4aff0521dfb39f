import Glibc

/// Reports words that do not name their subject or that are not the standard term, in everything that a person reads:
/// documents, comments, messages and the names of tests.
enum PlainWordRule {
    static func findings(in file: TextFile) -> [Finding] {
        // A search in C first: a debug build takes minutes to match a regex against each line of the checkout.
        guard needles.contains(where: { unsafe strstr(file.text, $0) != nil }) else { return [] }
        let lines = prose(of: file)
        return zip(1..., lines).compactMap { number, line in
            line.firstMatch(of: forbidden).map { match in
                Finding(file.path, number, "\"\(match.0)\": name the actor, or use the standard term")
            }
        }
    }

    private static let needles = [
        "hoever", "obody", "omebody", "told", "Told", "et go", "ets go", "etting go", "is none", "or ever",
        "can be had",
    ]

    // Words in a regex are code, so that the rule does not report itself.
    private static var forbidden: Regex<Substring> {
        /\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody|[Tt]old|[Ll]ets? go|[Ll]etting go|is none|[Ff]or ever|can be had)\b/
    }

    /// Returns the prose of each line. In tests, strings are data, so that only comments and names count; in scripts, only
    /// comments do.
    private static func prose(of file: TextFile) -> [String] {
        if file.isMarkdown || file.path.hasSuffix(".tutorial") { return file.lines.map(String.init) }
        if file.path.hasPrefix("Tests/") || file.path.hasPrefix("Samples/Tests/") {
            return file.lines.map { isComment($0, "//") || $0.contains("func `") ? String($0) : "" }
        }
        guard file.isSwift || file.isC else { return file.lines.map { isComment($0, "#") ? String($0) : "" } }
        let codeLines = file.code.split(separator: "\n", omittingEmptySubsequences: false)
        return zip(file.lines, codeLines).map { line, code in
            // What the scanner has replaced by spaces: comments and the contents of strings.
            let prose = zip(line.utf8, code.utf8).map { $0 == $1 ? UInt8(ascii: " ") : $0 }
            return String(decoding: prose, as: UTF8.self)
        }
    }

    private static func isComment(_ line: Substring, _ mark: String) -> Bool {
        line.drop(while: \.isWhitespace).hasPrefix(mark)
    }
}
