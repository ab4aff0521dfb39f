import WaybillCore
import ArgumentParser
import Glibc
import Waybill

/// Parses the words of the command line into a command.
struct ParsedCall {
    /// The command with all its arguments.
    let command: any ParsableCommand
    /// A warning to print before the command runs.
    let warning: String?

    /// Merges the settings into the words and parses them.
    init(_ words: [String], of root: any AsyncParsableCommand.Type) async throws {
        let tree = CommandTree(of: root)
        try Self.checkCommand(words, tree)
        let settings = Settings(
            tree: tree, environment: Environment.value, file: try SettingsFile.find(Environment.value))
        let merged = try settings.merged(words)
        let (leaf, depth) = tree.find(merged)
        guard depth > 0, leaf.subcommands.isEmpty else {
            command = try await root.asyncParseAsRoot(merged)
            warning = nil
            return
        }
        let names = merged.prefix(depth)
        let reader = CallReader(leaf)
        CommandWords.set(merged, reader)
        let pieces = reader.pieces(merged[depth...])
        try Self.checkText(pieces, names.joined(separator: " "))
        let call = LongCall(pieces, many: Self.many(names, of: root))
        var command = try await root.asyncParseAsRoot(names + call.words)
        if var many = command as? any TakesManyArguments {
            try many.addRemaining(of: call)
            command = many
        }
        self.command = command
        let isSilent = pieces.contains { $0.kind == .flag("silent") }
        warning = isSilent ? nil : VariableCheck(tree: tree).warning(about: Environment.names)
    }

    /// Returns the names of arguments that may be repeated any number of times.
    static func many(_ names: some Sequence<String>, of root: any ParsableCommand.Type) -> Set<String> {
        var type = root
        for name in names {
            guard let next = type.configuration.subcommands.first(where: { $0.configuration.commandName == name })
            else { return [] }
            type = next
        }
        return (type as? any TakesManyArguments.Type)?.manyNames ?? []
    }

    /// Throws if a command does not exist. The error suggests a similar name.
    static func checkCommand(_ words: [String], _ tree: CommandTree) throws(CommandFailure) {
        let (command, depth) = tree.find(words)
        // ArgumentParser adds the command `help` to the root.
        guard !command.subcommands.isEmpty, words.indices.contains(depth), words[depth].utf8.first != UInt8(ascii: "-"),
            depth > 0 || words[depth] != "help"
        else { return }
        let names = command.subcommands.filter(\.shouldDisplay).map(\.commandName)
        let path = (["waybill"] + words.prefix(depth)).joined(separator: " ")
        throw .usage(
            "\(path) has no command \(Redaction.quoted(words[depth]))."
                + Suggestion.sentence(for: words[depth], among: names)
                + " Its commands are \(names.joined(separator: ", ")).")
    }

    /// Throws if an argument is not UTF-8, except for file names and parts of a form.
    static func checkText(_ pieces: [CallReader.Piece], _ path: String) throws(CommandFailure) {
        for piece in pieces {
            switch piece.kind {
            case .option(let name, let value?) where !byteOptions.contains(name) && !SystemPath.isUTF8(value):
                throw .usage(
                    "--\(name): the value is not UTF-8. Only file names and parts of a form may contain other bytes.")
            case .positional(let word) where !byteCommands.contains(path) && !SystemPath.isUTF8(word):
                throw .usage(
                    "\(Redaction.quoted(word)) is not UTF-8. Percent-encode such bytes in a URL.")
            case .option, .positional, .flag, .other: break
            }
        }
    }

    private static let byteOptions: Set<String> = [
        "form", "form-string", "each", "each-from", "output", "report", "include", "exclude", "dedupe",
    ]
    private static let byteCommands: Set<String> = ["put", "shrink", "form parse"]
}

/// The arguments of this process.
enum ProgramArguments {
    /// All arguments except the program's name. `CommandLine.arguments` would replace bytes that are not UTF-8.
    static var all: [String] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            unsafe CommandLine.unsafeArgv[index].map { argument in
                unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            }
        }
    }
}
