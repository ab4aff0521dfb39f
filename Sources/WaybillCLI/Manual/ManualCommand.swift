import ArgumentParser

/// `waybill manual`: the manual page, generated from the command's own help.
struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Prints the manual page.",
        discussion: """
            The page is in roff format for man(1).

            EXAMPLES:
              waybill manual | man -l -
              waybill manual > /usr/local/share/man/man1/waybill.1
            """)

    func run() async throws {
        let page = ManualPage(CommandTree(of: WaybillCommand.self), version: WaybillCommand.version)
        print(page.text, terminator: "")
    }
}

/// A manual page in roff (man(7)), generated from a command tree.
struct ManualPage {
    private let tree: CommandTree
    private let version: String

    init(_ tree: CommandTree, version: String) {
        self.tree = tree
        self.version = version
    }

    /// The text of the page.
    var text: String {
        let name = tree.commandName
        var lines = [
            ".TH \(Roff.quoted(name.uppercased())) 1 \"\" \(Roff.quoted("\(name) \(version)")) \"User Commands\"",
            ".SH NAME", Roff.text("\(name) - \(Self.clause(tree.abstract))"), ".SH SYNOPSIS",
        ]
        for command in tree.leaves { lines += [".B \(Roff.text(fullName(of: command)))", synopsis(command), ".br"] }
        let (discussion, exits) = Self.splitExitStatus(tree.discussion)
        lines.append(".SH DESCRIPTION")
        lines += Roff.paragraphs(discussion)
        lines += [".SH COMMANDS"]
        for command in tree.leaves { lines += section(command) }
        lines += [".SH SETTINGS"] + Roff.paragraphs(Self.settings)
        lines += [".SH ENVIRONMENT"] + Roff.paragraphs(Self.environment)
        lines += [".SH EXIT STATUS"] + Roff.paragraphs(exits)
        return lines.joined(separator: "\n") + "\n"
    }

    private func fullName(of command: CommandTree) -> String { "\(tree.commandName) \(command.path)" }

    private func section(_ command: CommandTree) -> [String] {
        var lines = [".SS \(Roff.quoted(fullName(of: command)))", Roff.text(command.abstract)]
        lines += Roff.paragraphs(Self.splitExitStatus(command.discussion).rest)
        var title: String?
        for argument in command.arguments.filter(\.shouldDisplay) {
            if argument.longNames.first == "help" || argument.longNames.first == "version" { continue }
            if argument.sectionTitle != title {
                title = argument.sectionTitle
                if let title { lines += [".PP", ".I \(Roff.text(title))"] }
            }
            lines += [".TP", Self.head(argument), Roff.text(Self.body(argument))]
        }
        return lines
    }

    private func synopsis(_ command: CommandTree) -> String {
        let positionals = command.arguments.filter { $0.kind == .positional && $0.shouldDisplay }
        let words = positionals.map { argument -> String in
            let word = (argument.valueName ?? "value").uppercased() + (argument.isRepeating ? " ..." : "")
            return argument.isOptional ? "[\(word)]" : word
        }
        return Roff.text((["[option ...]"] + words).joined(separator: " "))
    }

    /// Returns the names of an option in bold and its value in italics.
    private static func head(_ argument: CommandTree.Argument) -> String {
        guard argument.kind != .positional else {
            return ".I \(Roff.text((argument.valueName ?? "value").uppercased()))"
        }
        let names = (argument.names ?? []).map { $0.kind == .long ? "--\($0.name)" : "-\($0.name)" }
        let ordered = names.filter { !$0.hasPrefix("--") } + names.filter { $0.hasPrefix("--") }
        let bold = ordered.map { "\\fB\(Roff.escaped($0))\\fR" }.joined(separator: ", ")
        guard argument.kind == .option else { return bold }
        return "\(bold) \\fI\(Roff.escaped(argument.valueName ?? "value"))\\fR"
    }

    private static func body(_ argument: CommandTree.Argument) -> String {
        var text = [argument.abstract, argument.discussion].compactMap(\.self).joined(separator: " ")
        if let values = argument.allValues, !values.isEmpty { text += " One of \(values.joined(separator: ", "))." }
        if let value = argument.defaultValue, !value.isEmpty, argument.kind == .option {
            text += " Default: \(value)."
        }
        return text
    }

    /// Splits off the table of exit statuses, which the page contains only once.
    private static func splitExitStatus(_ discussion: String) -> (rest: String, exits: String) {
        let parts = discussion.split(separator: "EXIT STATUS:\n", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    /// Returns an abstract in the form used after a dash: without a full stop and an initial capital.
    private static func clause(_ abstract: String) -> String {
        let text = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    private static let settings = """
        Options can also be set in the file $XDG_CONFIG_HOME/waybill/config (~/.config/waybill/config), or in the file \
        that WAYBILL_CONFIG names; if it is empty, no file is read. Settings before the first section apply to every \
        command that has the option. A section applies to one command:

          # for all commands
          cacert = /etc/ssl/bank.pem
          [post]
          retry = 3
          [outbox run]
          parallel = 4

        Set a flag with "name = true". The environment variable of an option is WAYBILL_ and its long name in \
        capitals, with _ for -: WAYBILL_CONNECT_TIMEOUT=5. The command line overrides the environment, which overrides \
        the file. Values of options that may be repeated are combined.

        Settings are defaults: a setting that a call can't use, because it requires another option or conflicts with \
        one that was given, is ignored for that call. Options that belong to a single call, such as --each, --queue, \
        --output or the items of outbox, can't be settings.
        """

    private static let environment = """
          NO_COLOR              no colors
          TERM=dumb, CI         periodic lines instead of a progress bar
          TMPDIR                directory for copies of standard input and pipes; default /tmp
          WAYBILL_OUTBOX        the directory of the outbox, or the URL of its database
          WAYBILL_OUTBOX_FILES  directory that all machines of a database have mounted, for files above 1 MiB
          OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET, OSS_SESSION_TOKEN, OSS_ENDPOINT, OSS_REGION
          QINIU_ACCESS_KEY, QINIU_SECRET_KEY, QINIU_UPLOAD_TOKEN, QINIU_UP_HOST

        A warning lists variables that begin with WAYBILL_ but have no effect, unless -q is given. Proxies from the \
        environment are not used; pass a proxy with -x.
        """
}
