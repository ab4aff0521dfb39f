import ArgumentParser

/// `waybill form`: forms without sending them.
struct FormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "form", abstract: "Makes the bytes of a form without sending them, and reads them.",
        subcommands: [FormBuildCommand.self, FormParseCommand.self])
}
