/// A page that a reader follows at a terminal: the files to write, the commands to run and the output it shows.
struct Walkthrough {
    enum Step: Equatable {
        /// Replaces the content of a file. The path is relative to the new package.
        case write(path: String, text: String)
        /// Runs commands in a shell. `output` is `nil` if the page shows none.
        case type(script: String, output: String?)
    }

    let steps: [Step]

    /// Parses a Markdown page: `sh` blocks are commands, a `text` block directly after one is its output, and any
    /// block after "Replace the content of `path`" is that file.
    init(markdown: String) {
        var steps: [Step] = []
        var rest = markdown[...]
        while let match = rest.firstMatch(of: /(?m)^```(\w+)\n((?s:.*?))^```$/) {
            let (language, text) = (match.1, String(match.2))
            let prose = rest[..<match.range.lowerBound]
            rest = rest[match.range.upperBound...]
            if let path = prose.firstMatch(of: /Replace the content of `([^`]+)`/)?.1 {
                steps.append(.write(path: String(path), text: text))
            } else if language == "sh" {
                steps.append(.type(script: text, output: nil))
            } else if language == "text", case .type(let script, nil) = steps.last {
                steps[steps.count - 1] = .type(script: script, output: text)
            }
        }
        self.steps = steps
    }

    /// Parses a DocC tutorial: a listing named `Terminal` is a session, any other is the file of that name.
    ///
    /// - Parameters:
    ///   - tutorial: The directives.
    ///   - code: Returns the text of a file in the directory `Code`.
    init(tutorial: String, code: (String) throws -> String) rethrows {
        steps = try tutorial.matches(of: /@Code\(name: "([^"]+)", file: "([^"]+)"\)/).map { match in
            let text = try code(String(match.2))
            return match.1.hasPrefix("Terminal") ? Self.session(text) : .write(path: String(match.1), text: text)
        }
    }

    /// Parses a terminal session: commands follow `$`; all other lines are output.
    private static func session(_ text: String) -> Step {
        let lines = text.split(separator: "\n")
        let commands = lines.filter { $0.hasPrefix("$ ") }.map { "\($0.dropFirst(2))\n" }
        let output = lines.filter { !$0.hasPrefix("$ ") }.map { "\($0)\n" }
        return .type(script: commands.joined(), output: output.joined())
    }

    /// Returns whether a program printed what a page shows. `…` matches any text in a line and, alone in a line, any
    /// lines. Numbers that depend on the photo, the machine and the port are not compared.
    static func matches(_ printed: String, shown: String) throws -> Bool {
        let pattern = plain(shown).split(separator: "\n").map { line in
            if line == "…" { return "(?:.*\\n)*?" }
            let parts = line.split(separator: "…", omittingEmptySubsequences: false)
            return parts.map { quoted(String($0)) }.joined(separator: ".*") + "\\n"
        }
        return try plain(printed).wholeMatch(of: Regex(pattern.joined())) != nil
    }

    private static func plain(_ text: String) -> String {
        text.replacing(/"(bytes|height|width)":\d+/) { "\"\($0.1)\":0" }
            .replacing(/port \d+ after \d+ ms/, with: "port 0 after 0 ms")
    }

    private static func quoted(_ text: String) -> String {
        text.replacing(/[\\^$.|?*+(){}\[\]]/) { "\\\($0.0)" }
    }
}
