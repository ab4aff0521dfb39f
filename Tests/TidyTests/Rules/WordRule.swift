/// Words and patterns that do not belong in finished code.
enum WordRule {
    /// Reports task markers in any file, traps in place of errors in `Sources`, and disabled tests.
    static func findings(in file: TextFile) -> [Finding] {
        var findings = lineFindings(in: file, lines: file.lines, patterns: taskMarkers)
        if file.isSwift {
            let lines = file.code.split(separator: "\n", omittingEmptySubsequences: false)
            if file.target != nil { findings += lineFindings(in: file, lines: lines, patterns: crashes) }
            if file.path.contains("Tests/") {
                findings += lineFindings(in: file, lines: lines, patterns: disabledTests)
            }
        }
        if file.path.hasSuffix("/Placeholder.swift") {
            findings.append(Finding(file.path, nil, "a placeholder: implement the target or remove it"))
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
    private static var taskMarkers: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\b(?:TO[D]O|FIX[M]E|XX[X])\b/, "a task marker: finish the task, or document the limitation"),
            (/fatal[E]rror\("not/, "unfinished code"),
            (/^(?:<{7}|>{7})(?:\s|$)/, "a merge conflict marker"),
            (
                /(?:^|[^\w.~\/])\/(?:wor[k]|far[m]|roo[t]|hom[e])\/\w/,
                "a path of one machine"
            ),
        ]
    }

    private static var crashes: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\btry!/, "try! crashes on invalid input: throw an error"),
            (/\bas!\s/, "as! crashes: cast with as? and throw an error"),
            (/\b(?:U?Int(?:8|16|32|64)?|Double|URL)\([^()]*\)!/, "unwraps a conversion that can fail: throw an error"),
        ]
    }

    private static var disabledTests: [(pattern: Regex<Substring>, message: String)] {
        [
            (/\.disabled\(/, "a disabled test checks nothing"),
            (/\bwithKnownIssue\b/, "fix a known issue instead of recording it"),
            (/#expect\(true\)|#expect\(Bool\(true\)\)/, "an expectation that can't fail"),
        ]
    }
}
