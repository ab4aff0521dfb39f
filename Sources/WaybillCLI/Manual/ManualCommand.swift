import ArgumentParser

/// `waybill manual`: the manual page, made of what the command knows of itself.
struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Prints the manual page.",
        discussion: """
            The page is in roff, as man(1) reads it.

            EXAMPLES:
              waybill manual | man -l -
              waybill manual > /usr/local/share/man/man1/waybill.1
            """)

    func run() async throws {
        let page = ManualPage(CommandTree(of: WaybillCommand.self), version: WaybillCommand.version)
        print(page.text, terminator: "")
    }
}
