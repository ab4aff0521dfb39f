/// Finds samples in Markdown and regions in source files, and compares them.
enum Samples {
    struct Sample: Equatable {
        /// The line number of the opening fence.
        var line: Int
        var text: String
    }

    /// Returns the fenced blocks of a language.
    static func blocks(_ language: String, in markdown: String) -> [Sample] {
        var blocks: [Sample] = []
        var open: (line: Int, indent: Int, isIncluded: Bool, lines: [Substring])?
        for (index, line) in lines(of: markdown).enumerated() {
            let content = line.drop { $0 == " " }
            guard content.hasPrefix("```") else {
                open?.lines.append(line)
                continue
            }
            if let block = open {
                if block.isIncluded {
                    blocks.append(Sample(line: block.line, text: block.lines.joined(separator: "\n")))
                }
                open = nil
            } else {
                let word = content.drop { $0 == "`" }.prefix { $0 != " " }
                open = (index + 1, line.count - content.count, word == language, [])
            }
        }
        return blocks
    }

    /// Returns the text between `// snippet: name` and `// end` in a source file, by name.
    static func regions(in source: String) -> [String: String] {
        Dictionary(marked("snippet", in: source).map { ($0.name, $0.text) }) { _, last in last }
    }

    /// Returns the text between `// word: name` and `// end` in a source file, in order; names may repeat.
    static func marked(_ word: String, in source: String) -> [(name: String, text: String)] {
        let opening = "// \(word): "
        var regions: [(name: String, text: String)] = []
        var name: String?
        var collected: [Substring] = []
        for line in lines(of: source) {
            let content = line.drop { $0 == " " }
            if content.hasPrefix(opening) {
                name = String(content.dropFirst(opening.count))
                collected = []
            } else if content == "// end", let key = name {
                regions.append((key, collected.joined(separator: "\n")))
                name = nil
            } else {
                collected.append(line)
            }
        }
        return regions
    }

    /// Returns the lines to compare: without imports, which are at the top of a file, without blank lines, and with
    /// runs of spaces collapsed.
    static func normalized(_ text: String) -> [String] {
        lines(of: text).map { $0.split(separator: " ").joined(separator: " ") }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
    }

    /// Returns the modules that a sample imports.
    static func imports(of text: String) -> Set<String> {
        var modules = Set<String>()
        for line in lines(of: text) {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "import" { modules.insert(String(words[1])) }
        }
        return modules
    }

    private static func lines(of text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }
}

/// Finds commands in the shell blocks of Markdown and splits them into words like a shell.
enum CommandLines {
    /// Returns the commands of a block that begin with the given word, up to a pipe or a redirection; a backslash at the end of a line
    /// continues it on the next.
    static func commands(_ program: String, in block: String) -> [[String]] {
        let joined = block.split(separator: "\\\n", omittingEmptySubsequences: false).joined()
        return joined.split(separator: "\n").map { line in
            Array(words(String(line)).prefix { !["|", ">", ";", "&&"].contains($0) })
        }.filter { $0.first == program }
    }

    /// Returns the words of a line, separated by spaces outside quotes; `#` begins a comment.
    static func words(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            switch (quote, character) {
            case (nil, "#") where word == nil:
                return words
            case (nil, " "):
                if let finished = word { words.append(finished) }
                word = nil
            case (nil, "'"), (nil, "\""):
                quote = character
                word = word ?? ""
            case (.some(let open), _) where open == character:
                quote = nil
            default:
                word = (word ?? "") + String(character)
            }
        }
        return word.map { words + [$0] } ?? words
    }
}
