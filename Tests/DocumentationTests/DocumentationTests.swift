import ArgumentParser
import Foundation
import Testing

@testable import WaybillCLI

/// The code in the documentation compiles: each `swift` block of a Markdown file equals a region of a file in `Snippets`,
/// line by line, and those files are part of this target.
struct DocumentationTests {
    @Test func `every sample is compiled`() throws {
        let snippets = try files(under: "Tests/DocumentationTests/Snippets", endingIn: ".swift")
        let regions = snippets.flatMap { file in
            Samples.regions(in: file.text).map {
                (name: $0.key, text: $0.value, imports: Samples.imports(of: file.text))
            }
        }
        #expect(!regions.isEmpty)
        var used = Set<String>()
        var count = 0
        for page in try pages() + tutorialSteps() {
            let whole = [Samples.Sample(line: 1, text: page.text)]
            for block in page.isCode ? whole : Samples.blocks("swift", in: page.text) {
                count += 1
                let match = regions.first { Samples.normalized($0.text) == Samples.normalized(block.text) }
                guard let match else {
                    Issue.record("\(page.path):\(block.line): is in no region of Snippets:\n\(block.text)")
                    continue
                }
                used.insert(match.name)
                #expect(Samples.imports(of: block.text).isSubset(of: match.imports), "\(page.path):\(block.line)")
            }
        }
        #expect(count > 5)
        #expect(Set(regions.map(\.name)).subtracting(used).isEmpty, "snippets that no page shows")
    }

    @Test func `a sample that differs in one word is detected`() {
        let markdown = "Text\n```swift\nimport Waybill\n\nlet a = 1   \n    call(a)\n```\n```sh\nmake\n```\n"
        let blocks = Samples.blocks("swift", in: markdown)
        #expect(blocks.map(\.line) == [2])
        let same = Samples.regions(in: "func f() {\n    // snippet: x\n    let a =  1\n      call(a)\n    // end\n}")[
            "x"]
        #expect(Samples.normalized(blocks[0].text) == Samples.normalized(same ?? ""))
        #expect(Samples.normalized(blocks[0].text) != Samples.normalized("let a = 2\ncall(a)"))
        #expect(Samples.imports(of: blocks[0].text) == ["Waybill"])
        #expect(Samples.blocks("sh", in: markdown).map(\.text) == ["make"])
    }

    @Test func `every command line is parsed by the command`() throws {
        var count = 0
        for page in try pages() {
            for block in Samples.blocks("sh", in: page.text) {
                for words in CommandLines.commands("waybill", in: block.text) {
                    count += 1
                    #expect(throws: Never.self, "\(page.path):\(block.line): \(words.joined(separator: " "))") {
                        try WaybillCommand.parseAsRoot(Array(words.dropFirst()))
                    }
                }
            }
        }
        #expect(count > 0)
        #expect(throws: (any Error).self) { try WaybillCommand.parseAsRoot(["post", "--no-such-flag"]) }
    }

    @Test func `every make target named in a page exists`() throws {
        let makefile = try file("Makefile").text
        let targets = Set(
            makefile.split(separator: "\n").compactMap { line in
                line.firstMatch(of: /^([a-z-]+):/).map { String($0.1) }
            })
        var count = 0
        for page in try pages() {
            for block in Samples.blocks("sh", in: page.text) {
                for words in CommandLines.commands("make", in: block.text) where words.count > 1 {
                    count += 1
                    #expect(targets.contains(words[1]), "\(page.path):\(block.line): make \(words[1])")
                }
            }
        }
        #expect(count > 0)
    }

    /// Pages name files of the checkout.
    @Test func `every file named in a page exists`() throws {
        var count = 0
        for page in try pages() {
            // `Sources/kiosk` is in the package that the reader creates.
            for match in page.text.matches(
                of: /`((?:Tests|Sources(?!\/kiosk\/)|Samples|Docs|Scripts|Fuzz)\/[\w\/+.-]+)`/)
            {
                count += 1
                let path = root.appending(path: String(match.1)).path
                #expect(FileManager.default.fileExists(atPath: path), "\(page.path): \(match.1)")
            }
        }
        #expect(count > 20)
    }

    @Test func `command lines are split as by a shell`() {
        #expect(
            CommandLines.words("waybill post u -F 'a=b c' x\"y z\" # d") == [
                "waybill", "post", "u", "-F", "a=b c", "xy z",
            ])
        #expect(CommandLines.commands("make", in: "make \\\n  test\nls\n") == [["make", "test"]])
        #expect(CommandLines.commands("a", in: "a b | c\na 'd|e' > f\n") == [["a", "b"], ["a", "d|e"]])
    }

    // MARK: The checkout

    private struct File {
        var path: String
        var text: String
        var isCode: Bool { path.hasSuffix(".swift") }
    }

    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func pages() throws -> [File] {
        try ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(file) + files(under: "Docs", endingIn: ".md")
            + files(under: "Sources", endingIn: ".md").filter { $0.path.contains(".docc/") }
    }

    /// Returns the files that the tutorial shows. `TidyTests` pass its manifest to the package manager.
    private func tutorialSteps() throws -> [File] {
        try files(under: "Sources", endingIn: ".swift")
            .filter { $0.path.contains(".docc/") && !$0.path.hasSuffix("/Package.swift") }
    }

    private func files(under folder: String, endingIn ending: String) throws -> [File] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(ending) }.sorted().map { try file("\(folder)/\($0)") }
    }

    private func file(_ path: String) throws -> File {
        File(path: path, text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
    }
}
