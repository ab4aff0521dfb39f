/// Words and patterns that do not belong in finished code.
enum WordRule {
    /// Reports task markers in any file, traps in place of errors in `Sources`, and disabled tests.
    static func findings(in file: TextFile) -> [Finding] {
        var findings = lineFindings(in: file, lines: file.lines, patterns: notes)
        if file.isSwift {
            let lines = file.code.split(separator: "\n", omittingEmptySubsequences: false)
            if file.target != nil { findings += lineFindings(in: file, lines: lines, patterns: crashes) }
            if file.path.contains("Tests/") { findings += lineFindings(in: file, lines: lines, patterns: idleTests) }
        }
        if file.path.hasSuffix("/Placeholder.swift") {
            findings.append(Finding(file.path, nil, "a placeholder: fill the target or take it out"))
        }
        return findings
    }

    private static func lineFindings(
        in file: TextFile, lines: [Substring], patterns: [(pattern: Regex<Substring>, message: String)]
    ) -> [Finding] {
        lines.enumerated().flatMap { index, line in
            patterns.filter { line.contains($0.pattern) }.map { Finding(file.path, index + 1, $0.message) }
        }
    }

    // Written with character classes, so that the rule does not report itself.
    private static var notes: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\b(?:TO[D]O|FIX[M]E|XX[X])\b/, "a note to oneself: do it, or write down why it is left"),
            (/fatal[E]rror\("not/, "something unfinished"),
            (/^(?:<{7}|>{7})(?:\s|$)/, "the mark of a merge that was not finished"),
            (
                /(?:^|[^\w.~\/])\/(?:wor[k]|far[m]|roo[t]|hom[e])\/\w/,
                "a path of somebody's machine"
            ),
        ]
    }

    private static var crashes: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\btry!/, "try! crashes on somebody's input: throw"),
            (/\bas!\s/, "as! crashes: cast with as? and say what was wrong"),
            (/\b(?:U?Int(?:8|16|32|64)?|Double|URL)\([^()]*\)!/, "unwraps a conversion that can fail: throw"),
        ]
    }

    private static var idleTests: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\.disabled\(/, "a test that is switched off proves nothing"),
            (/\bwithKnownIssue\b/, "a known issue is mended, not recorded"),
            (/#expect\(true\)|#expect\(Bool\(true\)\)/, "asserts nothing"),
        ]
    }
}
