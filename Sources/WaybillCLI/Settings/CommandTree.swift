import ArgumentParser
import FoundationEssentials
import Waybill

/// What ArgumentParser knows of a command: its subcommands and its options. Settings and the manual page are made of it,
/// so neither can name what is not there.
///
/// A call reads the options of its own command only: to ask ArgumentParser for those of all takes longer than a small upload.
final class CommandTree: Sendable {
    let commandName: String
    let abstract: String
    let discussion: String
    let shouldDisplay: Bool
    let subcommands: [CommandTree]
    private let command: any ParsableCommand.Type
    private let known = Locked<[Argument]?>(nil)

    /// An option, a flag or a bare argument.
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

        /// Its names with two dashes, without these.
        var longNames: [String] { (names ?? []).filter { $0.kind == .long }.map(\.name) }
        /// Its letters.
        var letters: [Character] { (names ?? []).filter { $0.kind == .short }.compactMap(\.name.first) }
    }

    /// The tree of a command.
    init(of command: any ParsableCommand.Type) {
        let configuration = command.configuration
        self.command = command
        commandName = command._commandName
        abstract = configuration.abstract
        discussion = configuration.discussion
        shouldDisplay = configuration.shouldDisplay
        subcommands = configuration.subcommands.map { CommandTree(of: $0) }
    }

    /// The options, flags and bare arguments of this command itself.
    var arguments: [Argument] {
        known.withLock { known in
            let arguments = known ?? (subcommands.isEmpty ? Self.arguments(of: command) : [])
            known = arguments
            return arguments
        }
    }

    private static func arguments(of command: any ParsableCommand.Type) -> [Argument] {
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

    /// Options and flags that can be given by a name.
    var settings: [Argument] {
        arguments.filter { $0.kind != .positional && $0.shouldDisplay && !$0.longNames.isEmpty }
            .filter { !["help", "version"].contains($0.longNames[0]) }
    }

    /// The subcommand that words begin with, as deep as they go, and how many of them name it.
    func find(_ words: some Collection<String>) -> (command: CommandTree, depth: Int) {
        guard let first = words.first, let next = subcommands.first(where: { $0.commandName == first }) else {
            return (self, 0)
        }
        let (command, depth) = next.find(words.dropFirst())
        return (command, depth + 1)
    }

    /// Whether this command itself has an option of a name.
    func knows(_ name: String) -> Bool { settings.contains { $0.longNames.contains(name) } }

    /// The commands that do something themselves, this one or those below it, with the words that name them. `path` names
    /// this one.
    func leaves(under path: String) -> [(path: String, tree: CommandTree)] {
        guard !subcommands.isEmpty else { return [(path, self)] }
        return subcommands.flatMap { $0.leaves(under: path.isEmpty ? $0.commandName : "\(path) \($0.commandName)") }
    }
}
