import Glibc

/// Words and patterns that do not belong in finished code.
enum WordRule {
    /// A pattern, and strings of which each match contains one.
    private typealias Pattern = (needles: [String], pattern: Regex<Substring>, message: String)

    /// Reports task markers in any file, traps in place of errors in `Sources`, and disabled tests.
    static func findings(in file: TextFile) -> [Finding] {
        var findings = findings(of: taskMarkers, in: file.text, of: file)
        if file.isSwift {
            if file.target != nil { findings += Self.findings(of: crashes, in: file.code, of: file) }
            if file.path.contains("Tests/") {
                findings += Self.findings(of: disabledTests, in: file.code, of: file)
            }
        }
        if file.path.hasSuffix("/Placeholder.swift") {
            findings.append(Finding(file.path, nil, "a placeholder: implement the target or remove it"))
        }
        return findings
    }

    private static func findings(of patterns: [Pattern], in text: String, of file: TextFile) -> [Finding] {
        // A search in C first: a debug build takes minutes to match regexes against each line of the checkout.
        let possible = patterns.filter { pattern in
            pattern.needles.contains { unsafe strstr(text, $0) != nil }
        }
        guard !possible.isEmpty else { return [] }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return zip(1..., lines).flatMap { number, line in
            possible.filter { line.contains($0.pattern) }.map { Finding(file.path, number, $0.message) }
        }
    }

    // Written in parts, so that the rule does not report itself.
    private static var taskMarkers: [Pattern] {
        [
            (
                ["TO" + "DO", "FIX" + "ME", "XX" + "X"], /\b(?:TO[D]O|FIX[M]E|XX[X])\b/,
                "a task marker: finish the task, or document the limitation"
            ),
            (["fatal" + "Error(\"not"], /fatal[E]rror\("not/, "unfinished code"),
            (["<<<<<<<", ">>>>>>>"], /^(?:<{7}|>{7})(?:\s|$)/, "a merge conflict marker"),
            (
                ["wor" + "k", "far" + "m", "roo" + "t", "hom" + "e"].map { "/" + $0 + "/" },
                /(?:^|[^\w.~\/])\/(?:wor[k]|far[m]|roo[t]|hom[e])\/\w/, "a path of one machine"
            ),
        ]
    }

    private static var crashes: [Pattern] {
        [
            (["try!"], /\btry!/, "try! crashes on invalid input: throw an error"),
            (["as!"], /\bas!\s/, "as! crashes: cast with as? and throw an error"),
            (
                [")!"], /\b(?:U?Int(?:8|16|32|64)?|Double|URL)\([^()]*\)!/,
                "unwraps a conversion that can fail: throw an error"
            ),
        ]
    }

    private static var disabledTests: [Pattern] {
        [
            ([".disabled("], /\.disabled\(/, "a disabled test checks nothing"),
            (["withKnownIssue"], /\bwithKnownIssue\b/, "fix a known issue instead of recording it"),
            (
                ["#expect(true)", "#expect(Bool(true))"], /#expect\(true\)|#expect\(Bool\(true\)\)/,
                "an expectation that can't fail"
            ),
        ]
    }
}
