import Testing

@testable import WaybillCLI

/// The table of options agrees with ArgumentParser.
struct CommandOptionsTests {
    @Test func `the table has the options of every command`() {
        for command in CommandTree(of: WaybillCommand.self).leaves {
            let described = command.describedOptions
            let texts = described.map(CommandOptions.text).joined(separator: " ")
            #expect(CommandOptions.options(of: command.path) == described, "The entry of \(command.path) is: \(texts)")
        }
    }

    @Test func `a command that is not listed has the options that ArgumentParser describes`() throws {
        let tree = CommandTree(of: PostCommand.self, path: "unlisted")
        #expect(CommandOptions.options(of: "unlisted") == nil)
        #expect(tree.options == tree.describedOptions)
        #expect(
            tree.options.contains { $0.longNames == ["form"] && $0.letters == ["F"] && $0.isRepeating && !$0.isFlag })
    }
}
