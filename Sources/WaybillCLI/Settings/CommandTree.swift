import WaybillCore
import ArgumentParser
import FoundationEssentials
import Waybill

/// The subcommands and options of a command.
///
/// The manual page has the ``arguments`` that ArgumentParser describes. Calls and settings need only the ``options``,
/// which come from ``CommandOptions``: asking ArgumentParser takes longer than a small upload.
final class CommandTree: Sendable {
    let commandName: String
    let abstract: String
    let discussion: String
    let shouldDisplay: Bool
    let subcommands: [CommandTree]
    /// The name with those of the commands above, such as `outbox run`.
    let path: String
    private let command: any ParsableCommand.Type
    private let cachedOptions = Locked<[Option]?>(nil)

    /// An option, a flag or a positional argument.
    struct Argument: Decodable, Sendable {
        enum Kind: String, Decodable, Sendable { case positional, option, flag }

        struct Name: Decodable, Sendable {
            enum Kind: String, Decodable, Sendable { case long, short, longWithSingleDash }
            var kind: Kind
            var name: String
        }

        var kind: Kind
        var shouldDisplay: Bool
        var sectionTitle: String?
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var allValues: [String]?
        var abstract: String?
        var discussion: String?

        /// The long names, without the two dashes.
        var longNames: [String] { (names ?? []).filter { $0.kind == .long }.map(\.name) }
        /// The short names.
        var letters: [Character] { (names ?? []).filter { $0.kind == .short }.compactMap(\.name.first) }
    }

    /// What a call needs to know of an option or a flag.
    struct Option: Sendable, Hashable {
        let isFlag: Bool
        let isRepeating: Bool
        let shouldDisplay: Bool
        /// The long names, without the two dashes; at least one.
        let longNames: [String]
        let letters: [Character]
    }

    /// Creates the tree of a command. `path` is its full name, empty for the root.
    init(of command: any ParsableCommand.Type, path: String = "") {
        let configuration = command.configuration
        self.command = command
        self.path = path
        commandName = command._commandName
        abstract = configuration.abstract
        discussion = configuration.discussion
        shouldDisplay = configuration.shouldDisplay
        subcommands = configuration.subcommands.map { command in
            CommandTree(of: command, path: path.isEmpty ? command._commandName : "\(path) \(command._commandName)")
        }
    }

    /// The options and flags of this command, including hidden ones.
    var options: [Option] {
        cachedOptions.withLock { cached in
            let options = cached ?? CommandOptions.options(of: path) ?? describedOptions
            cached = options
            return options
        }
    }

    /// The options and flags according to ArgumentParser.
    var describedOptions: [Option] {
        arguments.filter { $0.kind != .positional && !$0.longNames.isEmpty }.map { argument in
            Option(
                isFlag: argument.kind == .flag, isRepeating: argument.isRepeating,
                shouldDisplay: argument.shouldDisplay, longNames: argument.longNames, letters: argument.letters)
        }
    }

    /// The options, flags and positional arguments of this command, as ArgumentParser describes them.
    var arguments: [Argument] {
        guard subcommands.isEmpty else { return [] }
        struct Document: Decodable {
            struct Command: Decodable { var arguments: [Argument]? }
            var command: Command
        }
        do {
            return try JSONDecoder().decode(Document.self, from: Data(command._dumpHelp().utf8)).command.arguments ?? []
        } catch {
            preconditionFailure("ArgumentParser describes \(command) in a form that can't be read here: \(error)")
        }
    }

    /// The options and flags that may be settings.
    var settings: [Option] {
        options.filter { $0.shouldDisplay && !["help", "version"].contains($0.longNames[0]) }
    }

    /// Returns the subcommand that words begin with, at the deepest level, and the number of words that name it.
    func find(_ words: some Collection<String>) -> (command: CommandTree, depth: Int) {
        guard let first = words.first, let next = subcommands.first(where: { $0.commandName == first }) else {
            return (self, 0)
        }
        let (command, depth) = next.find(words.dropFirst())
        return (command, depth + 1)
    }

    /// Returns whether this command has an option with this name.
    func hasOption(named name: String) -> Bool { settings.contains { $0.longNames.contains(name) } }

    /// The commands without subcommands: this one or those below it.
    var leaves: [CommandTree] { subcommands.isEmpty ? [self] : subcommands.flatMap(\.leaves) }
}
