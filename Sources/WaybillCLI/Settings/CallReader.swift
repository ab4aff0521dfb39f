/// Splits the words of a call into pieces according to the options of its command, in linear time.
///
/// Short options are parsed as by curl: `-ks`, `-Fname=value` and `-kFname=value` mean the same as in curl.
/// ArgumentParser reads `-Fname=value` as an option named `Fname`, so it receives both as separate words.
struct CallReader: Sendable {
    /// A piece of a call.
    struct Piece: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            /// An option by its first long name, and its value, if any.
            case option(String, String?)
            /// A flag by its first long name.
            case flag(String)
            /// A word that is neither an option nor an option's value.
            case positional(String)
            /// `--`, or an option that the command does not support.
            case other
        }

        var kind: Kind
        /// The words to pass to ArgumentParser.
        var words: [String]
    }

    private let options: [String: CommandTree.Option]
    private let letters: [Unicode.Scalar: CommandTree.Option]

    init(_ command: CommandTree) {
        var options: [String: CommandTree.Option] = [:]
        var letters: [Unicode.Scalar: CommandTree.Option] = [:]
        for option in command.options {
            for name in option.longNames { options[name] = option }
            for letter in option.letters { letters[letter.unicodeScalars.first!] = option }
        }
        (self.options, self.letters) = (options, letters)
    }

    /// Returns all long names of the option with this name.
    func names(of option: String) -> [String] { options[option]?.longNames ?? [] }

    /// Returns the pieces of the words after the command's name.
    func pieces(_ words: some Collection<String>) -> [Piece] {
        var pieces: [Piece] = []
        var rest = Array(words)[...]
        while let word = rest.popFirst() {
            if word == "--" {
                pieces.append(Piece(kind: .other, words: [word]))
                pieces += rest.map { Piece(kind: .positional($0), words: [$0]) }
                break
            }
            if word.utf8.starts(with: "--".utf8) {
                readName(word, &rest, &pieces)
            } else if Self.isOption(word) {
                readLetters(word, &rest, &pieces)
            } else {
                pieces.append(Piece(kind: .positional(word), words: [word]))
            }
        }
        return pieces
    }

    private static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") && word != "-" }

    private func readName(_ word: String, _ rest: inout ArraySlice<String>, _ pieces: inout [Piece]) {
        let end = word.utf8.firstIndex(of: UInt8(ascii: "="))
        let name = String(word[..<(end ?? word.endIndex)].utf8.dropFirst(2)) ?? ""
        guard let option = options[name] else { return pieces.append(Piece(kind: .other, words: [word])) }
        guard !option.isFlag else {
            return pieces.append(Piece(kind: .flag(option.longNames[0]), words: [word]))
        }
        let joined = end.map { String(word[word.utf8.index(after: $0)...]) }
        readOption(option, joined, [word], &rest, &pieces)
    }

    /// Reads a cluster such as `-kvFname=value`. If it contains an unknown letter, it is left unchanged.
    private func readLetters(_ word: String, _ rest: inout ArraySlice<String>, _ pieces: inout [Piece]) {
        var cluster = word.unicodeScalars.dropFirst()
        var flags: [Piece] = []
        while let letter = cluster.popFirst() {
            guard let option = letters[letter], !option.isFlag || cluster.first != "=" else {
                return pieces.append(Piece(kind: .other, words: [word]))
            }
            guard !option.isFlag else {
                flags.append(Piece(kind: .flag(option.longNames[0]), words: ["-\(letter)"]))
                continue
            }
            pieces += flags
            guard !cluster.isEmpty else { return readOption(option, nil, ["-\(letter)"], &rest, &pieces) }
            // The text after an option's letter is its value.
            if cluster.first == "=" { cluster.removeFirst() }
            let value = String(cluster)
            return readOption(option, value, ["--\(option.longNames[0])=\(value)"], &rest, &pieces)
        }
        pieces += flags
    }

    private func readOption(
        _ option: CommandTree.Option, _ joined: String?, _ words: [String], _ rest: inout ArraySlice<String>,
        _ pieces: inout [Piece]
    ) {
        let name = option.longNames[0]
        let next = joined == nil ? rest.popFirst() : nil
        pieces.append(Piece(kind: .option(name, joined ?? next), words: words + (next.map { [$0] } ?? [])))
        // The only option that takes all words up to the next option.
        guard name == "each" else { return }
        while let word = rest.first, !Self.isOption(word) {
            pieces.append(Piece(kind: .option(name, word), words: [word]))
            rest.removeFirst()
        }
    }
}
