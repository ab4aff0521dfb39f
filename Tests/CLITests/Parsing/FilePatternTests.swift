import ArgumentParser
import Testing
import Waybill

@testable import WaybillCLI

@Suite struct EachPatternTests {
    @Test(arguments: [
        ("{}", "photos/a.jpg", "photos/a.jpg"), ("{name}.png", "photos/a.jpg", "a.png"),
        ("{folder}/small/{name}.jpg", "photos/a.jpg", "photos/small/a.jpg"), ("{}-{}", "a", "a-a"),
        // Placeholders in a file name are not expanded.
        ("{}", "{name}{}.jpg", "{name}{}.jpg"), ("{name}", "{}{name}.jpg", "{}{name}"), ("plain", "a", "plain"),
        ("{}", "照片;a,b\".jpg", "照片;a,b\".jpg"),
    ]) func `a pattern expands to a file name`(_ pattern: String, _ file: String, _ text: String) {
        #expect(EachPattern(pattern).expanded(for: file) == text)
    }

    @Test func `patterns are expanded in paths and file names, but not in text fields`() throws {
        let file = try FormArgument("f=@{},thumbs/{name}.png;filename={name}.bin").expanded(for: "a;b/c,d.jpg")
        #expect(
            file.source
                == .files([
                    FormArgument.File(path: "a;b/c,d.jpg"),
                    FormArgument.File(path: "thumbs/c,d.png", fileName: "c,d.bin"),
                ]))
        #expect(file.sendsEach == false)
        let text = try FormArgument("{}={\"a\":{}};filename={name}.json")
        #expect(text.expanded(for: "x/y.jpg").source == text.source)
        #expect(text.expanded(for: "x/y.jpg").fileName == "y.json")
        #expect(try !text.sendsEach && FormArgument("f=@{}").sendsEach)
        #expect(try FormArgument(literal: "f=@{}").patterns.isEmpty)
    }

    @Test func `a rate limit applies to all files, and --parallel to each host`() throws {
        let words = [
            "http://127.0.0.1/", "-F", "f=@{}", "--limit-rate", "10K", "--parallel", "9", "--each", "a", "b", "-q",
        ]
        let command = try PostCommand.parse(words)
        let plan = try EachPlan(command, arguments: words)
        let configuration = plan.configuration(output: command.output, console: .standard)
        #expect(plan.files == ["a", "b"] && command.output.silent)
        #expect(configuration.rateLimit == .kibibytes(10))
        #expect(configuration.maximumConcurrentTransfers == 9 && configuration.maximumConcurrentTransfersPerHost == 9)
    }

    @Test func `images are recognized by file name, and a setting that applies to none is refused`() throws {
        func plan(_ files: [String]) throws -> EachPlan {
            let words = ["http://127.0.0.1/", "-F", "f=@{}", "--max-bytes", "10K", "--each"] + files
            return try EachPlan(try PostCommand.parse(words), arguments: words)
        }
        #expect(try plan(["a.txt", "b.jpg"]).files.count == 2)
        #expect(throws: CommandFailure.self) { try plan(["a.txt", "b.png"]) }
    }
}

@Suite struct OutputPatternTests {
    @Test(arguments: [
        ("small/{name}-100k.jpg", "cards/front.jpeg", "small/front-100k.jpg"),
        ("{folder}/{name}.jpg", "cards/front.jpeg", "cards/front.jpg"), ("{folder}/{name}.jpg", "a.b", "./a.jpg"),
        ("{folder}/{name}.jpg", "/a.b.c", "/a.b.jpg"), ("{name}{name}", "x/.hidden", ".hidden.hidden"),
        ("plain.jpg", "x.jpg", "plain.jpg"), ("{other}{name", "x.jpg", "{other}{name"),
        // Placeholders in a file name are not expanded.
        ("{name}.jpg", "{folder}{name}.png", "{folder}{name}.jpg"), ("{name}", "照片.jpg", "照片"), ("", "x.jpg", ""),
    ]) func `a pattern expands to a path`(pattern: String, input: String, path: String) {
        #expect(OutputPattern(text: pattern).path(for: input) == path)
    }

    @Test func `text is escaped in HTML`() {
        #expect(ReportText.escaped("<a b='\"'>&") == "&lt;a b=&#39;&quot;&#39;&gt;&amp;")
        // A combining mark must not hide the character before it from the escaping.
        #expect(ReportText.escaped("<\u{338}script>\u{301}") == "&lt;\u{338}script&gt;\u{301}")
        #expect(ReportText.escaped("a\u{202E}b\u{0}c\n") == "a\\u{202e}b\\u{0}c\\u{a}")
    }
}
