/// A call of the command line, parsed as far as settings depend on it: its options and positional arguments.
struct SettingsCall: Sendable, Hashable {
    /// An option from the settings.
    struct Default: Sendable, Hashable {
        /// The first long name.
        var name: String
        var value: String
        /// The words that represent it on a command line.
        var words: [String]
        /// Whether it applies to all commands.
        var appliesToAllCommands: Bool
        /// The specificity of the setting. More specific settings are added first.
        var specificity: Int
    }

    /// The name of the command, such as `outbox run`.
    let path: String
    /// The long names of the options on the command line.
    private(set) var given: Set<String> = []
    /// The positional arguments.
    private(set) var positionals: [String] = []
    /// The values of the options by their first long names, with an empty value for each flag.
    private var values: [String: [String]] = [:]

    /// Parses the words after the name of the command.
    init(_ words: some Collection<String>, of command: CommandTree) {
        path = command.path
        let reader = CallReader(command)
        for piece in reader.pieces(words) {
            switch piece.kind {
            case .option(let name, let value):
                given.formUnion(reader.names(of: name))
                add(name, value ?? "")
            case .flag(let name):
                given.formUnion(reader.names(of: name))
                add(name, "")
            case .positional(let word): positionals.append(word)
            case .other: break
            }
        }
    }

    /// Returns whether an option is present, from the command line or from an added setting.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// Returns the values of an option in order.
    func values(of name: String) -> [String] { values[name] ?? [] }

    /// Adds the settings that the call accepts, the most specific first. Repeats until no more can be added, because a
    /// setting may depend on another one.
    ///
    /// - Returns: The added settings, in their original order.
    mutating func addAccepted(_ settings: [Default]) -> [Default] {
        var remaining = settings.indices.sorted { (-settings[$0].specificity, $0) < (-settings[$1].specificity, $1) }
        var added: [Int] = []
        while let next = remaining.firstIndex(where: { OptionRule.allow(settings[$0], in: self) }) {
            let index = remaining.remove(at: next)
            added.append(index)
            add(settings[index].name, settings[index].value)
        }
        return added.sorted().map { settings[$0] }
    }

    private mutating func add(_ name: String, _ value: String) { values[name, default: []].append(value) }
}
