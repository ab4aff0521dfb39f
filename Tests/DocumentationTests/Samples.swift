/// Finds samples in Markdown and regions in source files, and tells whether they are the same.
enum Samples {
    struct Sample: Equatable {
        /// Of the opening fence.
        var line: Int
        var text: String
    }

    /// The fenced blocks of a language.
    static func blocks(_ language: String, in markdown: String) -> [Sample] {
        var blocks: [Sample] = []
        var open: (line: Int, indent: Int, isWanted: Bool, lines: [Substring])?
        for (index, line) in lines(of: markdown).enumerated() {
            let content = line.drop { $0 == " " }
            guard content.hasPrefix("```") else {
                open?.lines.append(line)
                continue
            }
            if let block = open {
                if block.isWanted {
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

    /// What stands between `// snippet: name` and `// end` in a source file.
    static func regions(in source: String) -> [String: String] {
        Dictionary(marked("snippet", in: source).map { ($0.name, $0.text) }) { _, last in last }
    }

    /// What stands between `// word: name` and `// end` in a source file, in order; names may repeat.
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

    /// The lines that are compared: without imports, which stand at the top of a file, without blank lines, and with
    /// every run of blanks as one.
    static func normalised(_ text: String) -> [String] {
        lines(of: text).map { $0.split(separator: " ").joined(separator: " ") }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
    }

    /// The modules that a sample says it imports.
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
