import WaybillCore
import Waybill

/// Options from outside the command line. The command line has precedence over `WAYBILL_<OPTION>` in the environment,
/// which has precedence over the settings file. In the file, a command's section has precedence over settings for all
/// commands.
///
/// The values of an option that may be repeated are combined, as with curl. Settings are defaults: a setting that a
/// call does not accept is omitted, as defined by ``OptionRule``.
struct Settings {
    let tree: CommandTree
    let environment: (String) -> String?
    let file: SettingsFile?

    /// Returns the words of the command line with those of the settings inserted after the command's name.
    func merged(_ words: [String]) throws(CommandFailure) -> [String] {
        let (command, depth) = tree.find(words)
        try checkFile()
        guard depth > 0, command.subcommands.isEmpty else { return words }
        let path = command.path
        let rest = words[depth...]
        var call = SettingsCall(rest, of: command)
        var defaults: [SettingsCall.Default] = []
        for option in command.settings where !OptionRule.isPerCall(option.longNames[0], in: path) {
            let isGiven = !call.given.isDisjoint(with: option.longNames)
            if isGiven, !option.isRepeating { continue }
            defaults += try values(of: option, path)
        }
        return words.prefix(depth) + call.addAccepted(defaults).flatMap(\.words) + rest
    }

    private func values(
        of option: CommandTree.Option, _ path: String
    ) throws(CommandFailure) -> [SettingsCall.Default] {
        for name in option.longNames where !option.isRepeating {
            guard let value = environment(Self.variable(name)), !value.isEmpty else { continue }
            return try setting(option, name, value, section: "") { .usage("\(Self.variable(name)): \($0)") }
                .map { setting in
                    var setting = setting
                    setting.specificity = .max
                    return [setting]
                } ?? []
        }
        guard let file else { return [] }
        let mine = file.lines.filter { option.longNames.contains($0.name) && Self.section($0.section, covers: path) }
        var settings: [SettingsCall.Default] = []
        let nearest = mine.map(\.section.count).max()
        for line in mine where option.isRepeating || line.section.count == nearest {
            let found = try setting(option, line.name, line.value, section: line.section) {
                file.problem(line.number, $0)
            }
            settings = (option.isRepeating ? settings : []) + (found.map { [$0] } ?? [])
        }
        return settings
    }

    /// Returns a setting; `nil` for a flag that is turned off.
    private func setting(
        _ option: CommandTree.Option, _ name: String, _ value: String, section: String,
        _ problem: (String) -> CommandFailure
    ) throws(CommandFailure) -> SettingsCall.Default? {
        var setting = SettingsCall.Default(
            name: option.longNames[0], value: value, words: ["--\(name)=\(value)"],
            appliesToAllCommands: section.isEmpty,
            specificity: section.count)
        guard option.isFlag else { return setting }
        setting.words = ["--\(name)"]
        switch value.lowercased() {
        case "true", "yes", "on", "1": return setting
        case "false", "no", "off", "0": return nil
        default: throw problem("\(name) is a flag. Set it to true or false.")
        }
    }

    /// Throws for an option that no command supports.
    private func checkFile() throws(CommandFailure) {
        for line in file?.lines ?? [] {
            let (command, depth) = tree.find(line.section.split(separator: " ").map(String.init))
            guard line.section.isEmpty || depth == line.section.split(separator: " ").count else {
                let near = line.section.split(separator: " ").dropFirst(depth).first.map { word in
                    Suggestion.sentence(for: String(word), among: command.subcommands.map(\.commandName))
                }
                throw file!.problem(line.number, "There is no command \"\(line.section)\".\(near ?? "")")
            }
            let matching = command.leaves.filter { $0.hasOption(named: line.name) }
            guard matching.isEmpty || !matching.allSatisfy({ OptionRule.isPerCall(line.name, in: $0.path) }) else {
                throw file!.problem(
                    line.number,
                    "--\(line.name) can't be a setting, because it belongs to a single call. "
                        + "Pass it on the command line."
                )
            }
            guard !matching.isEmpty else {
                let subject = line.section.isEmpty ? "No command has an" : "waybill \(line.section) has no"
                let names = command.leaves.flatMap { $0.settings.flatMap(\.longNames) }
                throw file!.problem(
                    line.number,
                    "\(subject) option --\(line.name).\(Suggestion.sentence(for: line.name, among: names))")
            }
        }
    }

    private static func section(_ section: String, covers path: String) -> Bool {
        section.isEmpty || path == section || path.hasPrefix(section + " ")
    }

    /// Returns the environment variable of an option: `WAYBILL_CONNECT_TIMEOUT` for `--connect-timeout`.
    static func variable(_ name: String) -> String { "WAYBILL_" + name.uppercased().replacing("-", with: "_") }
}

/// The words of the current call, including settings.
enum CommandWords {
    private static let called = Locked<(words: [String], reader: CallReader)?>(nil)
    private static let ofPost = CallReader(CommandTree(of: PostCommand.self, path: "post"))

    /// All words after the program's name.
    static var all: [String] { called.withLock { $0?.words } ?? ProgramArguments.all }

    /// The reader for the current command, or for `post` if no command was called.
    static var reader: CallReader { called.withLock { $0?.reader } ?? ofPost }

    static func set(_ words: [String], _ reader: CallReader) { called.withLock { $0 = (words, reader) } }
}
