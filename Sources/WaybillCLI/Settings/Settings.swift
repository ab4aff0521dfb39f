import Waybill

/// Options from elsewhere than the command line. The nearest wins: the command line, then `WAYBILL_<OPTION>` in the
/// environment, then the settings file, where a command's own section goes before what is said for all.
///
/// An option that may be given several times adds up, as curl's does.
struct Settings {
    let tree: CommandTree
    let environment: (String) -> String?
    let file: SettingsFile?

    /// The words of the command line with those of the settings put in behind the command's name.
    func merged(_ words: [String]) throws(CommandFailure) -> [String] {
        let (command, depth) = tree.find(words)
        try checkFile()
        guard depth > 0, command.subcommands?.isEmpty ?? true else { return words }
        let path = words.prefix(depth).joined(separator: " ")
        let rest = words[depth...]
        let given = Self.given(rest, command)
        var added: [String] = []
        for argument in command.settings {
            let isGiven = !given.isDisjoint(with: argument.longNames)
            if isGiven, !argument.isRepeating { continue }
            added += try values(of: argument, path)
        }
        return words.prefix(depth) + added + rest
    }

    private func values(of argument: CommandTree.Argument, _ path: String) throws(CommandFailure) -> [String] {
        for name in argument.longNames where !argument.isRepeating {
            guard let value = environment(Self.variable(name)), !value.isEmpty else { continue }
            return try word(argument, name, value) { .usage("\(Self.variable(name)): \($0)") }
        }
        guard let file else { return [] }
        let mine = file.lines.filter { argument.longNames.contains($0.name) && Self.section($0.section, covers: path) }
        var words: [String] = []
        let nearest = mine.map(\.section.count).max()
        for line in mine where argument.isRepeating || line.section.count == nearest {
            let word = try word(argument, line.name, line.value) { file.problem(line.number, $0) }
            words = argument.isRepeating ? words + word : word
        }
        return words
    }

    private func word(
        _ argument: CommandTree.Argument, _ name: String, _ value: String, _ problem: (String) -> CommandFailure
    ) throws(CommandFailure) -> [String] {
        guard argument.kind == .flag else { return ["--\(name)=\(value)"] }
        switch value.lowercased() {
        case "true", "yes", "on", "1": return ["--\(name)"]
        case "false", "no", "off", "0": return []
        default: throw problem("\(name) is a flag: say true or false")
        }
    }

    /// A name that no command knows is a mistake, wherever it stands.
    private func checkFile() throws(CommandFailure) {
        for line in file?.lines ?? [] {
            let (command, depth) = tree.find(line.section.split(separator: " ").map(String.init))
            guard line.section.isEmpty || depth == line.section.split(separator: " ").count else {
                throw file!.problem(line.number, "there is no command \"\(line.section)\"")
            }
            guard command.knows(line.name) else {
                let place = line.section.isEmpty ? "no command" : "waybill \(line.section)"
                throw file!.problem(
                    line.number,
                    line.section.isEmpty
                        ? "no command has an option --\(line.name)" : "\(place) has no option --\(line.name)")
            }
        }
    }

    /// The long names of what stands on the command line.
    private static func given(_ words: ArraySlice<String>, _ command: CommandTree) -> Set<String> {
        var given: Set<String> = []
        for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("-") {
            if word.hasPrefix("--") {
                let name = String(word.dropFirst(2).prefix { $0 != "=" })
                given.formUnion(command.settings.first { $0.longNames.contains(name) }?.longNames ?? [])
                continue
            }
            for letter in word.dropFirst() {
                guard let argument = command.settings.first(where: { $0.letters.contains(letter) }) else { break }
                given.formUnion(argument.longNames)
                // What follows the letter of an option is its value.
                if argument.kind == .option { break }
            }
        }
        return given
    }

    private static func section(_ section: String, covers path: String) -> Bool {
        section.isEmpty || path == section || path.hasPrefix(section + " ")
    }

    /// `--connect-timeout` is `WAYBILL_CONNECT_TIMEOUT`.
    static func variable(_ name: String) -> String { "WAYBILL_" + name.uppercased().replacing("-", with: "_") }
}

/// The words that the command was called with, settings included.
enum CommandWords {
    private static let merged = Locked<[String]?>(nil)

    /// All behind the program's name.
    static var all: [String] { merged.withLock { $0 } ?? Array(CommandLine.arguments.dropFirst()) }

    static func set(_ words: [String]) { merged.withLock { $0 = words } }
}
