/// Finds commands in the shell blocks of Markdown and cuts them into words, as a shell would.
enum CommandLines {
    /// The commands of a block that begin with the given word, up to a pipe or a redirection; a backslash at the end of a line
    /// continues it on the next.
    static func commands(_ program: String, in block: String) -> [[String]] {
        let joined = block.split(separator: "\\\n", omittingEmptySubsequences: false).joined()
        return joined.split(separator: "\n").map { line in
            Array(words(String(line)).prefix { !["|", ">", ";", "&&"].contains($0) })
        }.filter { $0.first == program }
    }

    /// The words of a line: blanks separate, quotes hold together, `#` begins a comment.
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
