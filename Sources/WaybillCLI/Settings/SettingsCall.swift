/// A call of the command line, read as far as settings depend on it: its options with their
/// values, and its bare words.
struct SettingsCall: Sendable, Hashable {
    /// An option of the settings, which is for calls that have a place for it.
    struct Default: Sendable, Hashable {
        /// The first long name.
        var name: String
        var value: String
        /// The words that say it on a command line.
        var words: [String]
        /// Whether it was said for all commands.
        var isForAll: Bool
        /// How specific the setting is. More specific ones are taken first.
        var nearness: Int
    }

    /// The command's words: `outbox run`.
    let path: String
    /// Long names of the options on the command line.
    private(set) var given: Set<String> = []
    /// The bare words.
    private(set) var bare: [String] = []
    /// The values of the options by their first long names, and an empty one for each flag.
    private var values: [String: [String]] = [:]

    /// Reads the words behind those of the command.
    init(_ path: String, _ words: some Collection<String>, of command: CommandTree) {
        self.path = path
        let reader = CallReader(command)
        for piece in reader.pieces(words) {
            switch piece.kind {
            case .option(let name, let value):
                given.formUnion(reader.names(of: name))
                take(name, value ?? "")
            case .flag(let name):
                given.formUnion(reader.names(of: name))
                take(name, "")
            case .bare(let word): bare.append(word)
            case .other: break
            }
        }
    }

    /// Whether an option is there, from the command line or a setting that was taken.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The values of an option, in their order.
    func values(of name: String) -> [String] { values[name] ?? [] }

    /// Takes what has a place here, the nearest first, until nothing more has one: what one setting needs may come from
    /// another.
    ///
    /// - Returns: The settings that were taken, in their order.
    mutating func takeAll(_ settings: [Default]) -> [Default] {
        var left = settings.indices.sorted { (-settings[$0].nearness, $0) < (-settings[$1].nearness, $1) }
        var taken: [Int] = []
        while let next = left.firstIndex(where: { OptionRule.allow(settings[$0], in: self) }) {
            let index = left.remove(at: next)
            taken.append(index)
            take(settings[index].name, settings[index].value)
        }
        return taken.sorted().map { settings[$0] }
    }

    private mutating func take(_ name: String, _ value: String) { values[name, default: []].append(value) }
}
