import WaybillCore
import ArgumentParser
import FoundationEssentials
import Waybill

/// The subcommands and options of a command, as described by ArgumentParser. Settings and the manual page are derived
/// from it, so neither can name an option that does not exist.
///
/// A call reads only the options of its own command, because querying all options takes longer than a small upload.
final class CommandTree: Sendable {
    let commandName: String
    let abstract: String
    let discussion: String
    let shouldDisplay: Bool
    let subcommands: [CommandTree]
    private let command: any ParsableCommand.Type
    private let cachedArguments = Locked<[Argument]?>(nil)

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

    /// Creates the tree of a command.
    init(of command: any ParsableCommand.Type) {
        let configuration = command.configuration
        self.command = command
        commandName = command._commandName
        abstract = configuration.abstract
        discussion = configuration.discussion
        shouldDisplay = configuration.shouldDisplay
        subcommands = configuration.subcommands.map { CommandTree(of: $0) }
    }

    /// The options, flags and positional arguments of this command.
    var arguments: [Argument] {
        cachedArguments.withLock { cached in
            let arguments = cached ?? (subcommands.isEmpty ? Self.arguments(of: command) : [])
            cached = arguments
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

    /// The options and flags that have a long name.
    var settings: [Argument] {
        arguments.filter { $0.kind != .positional && $0.shouldDisplay && !$0.longNames.isEmpty }
            .filter { !["help", "version"].contains($0.longNames[0]) }
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

    /// Returns the commands without subcommands, this one or those below it, with full names. `path` is this one's
    /// name.
    func leaves(under path: String) -> [(path: String, tree: CommandTree)] {
        guard !subcommands.isEmpty else { return [(path, self)] }
        return subcommands.flatMap { $0.leaves(under: path.isEmpty ? $0.commandName : "\(path) \($0.commandName)") }
    }
}
