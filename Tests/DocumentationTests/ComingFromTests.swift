import ArgumentParser
import Foundation
import Testing

@testable import WaybillCLI

/// The code in the migration guides compiles: the code of each row is a region between `// row: name` and `// end` in the
/// Swift file named after the guide, and each such region has its row. A feature without an equivalent is listed in both
/// by `// none: name`, so that none is omitted by mistake.
struct ComingFromTests {
    static let guides = [
        "ComingFromAFNetworking", "ComingFromXMNetworking", "ComingFromHYBNetworking", "ComingFromAlamofire",
        "ComingFromOperations", "ComingFromURLSession",
    ]

    /// The guides from clients of object stores, which have other rows.
    static let storeGuides = ["ComingFromAliyunOSS", "ComingFromQiniu", "ComingFromS3Clients"]

    /// The guides from command-line programs: some of their rows are command lines.
    static let shellGuides = ["ComingFromCurl"]

    /// The guides from clients of one protocol.
    static let protocolGuides = ["ComingFromTus"]

    static let allGuides = guides + storeGuides + shellGuides + protocolGuides

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test(arguments: allGuides) func `every row has a compiled region, and every region a row`(guide: String) throws {
        let table = ComingFromTable(try Self.text("Docs/\(guide).md"))
        let source = try Self.text("Tests/DocumentationTests/ComingFrom/\(guide).swift")
        #expect(table.problems.isEmpty)
        let differences = Self.differences(between: table, and: source)
        #expect(differences.isEmpty, "Docs/\(guide).md: \(differences.joined(separator: "\n"))")
        #expect(table.rows.count { $0.code != nil } >= 20)
        #expect(table.rows.contains { $0.code == nil })
    }

    @Test(arguments: shellGuides) func `every command line of a row is parsed by the command`(guide: String) throws {
        let lines = ComingFromTable(try Self.text("Docs/\(guide).md")).rows.compactMap(\.commandLine)
        #expect(lines.count >= 20)
        for line in lines {
            let words = CommandLines.words(line)
            #expect(throws: Never.self, "\(line)") { try WaybillCommand.parseAsRoot(Array(words.dropFirst())) }
        }
    }

    @Test(arguments: guides) func `every guide covers the topics of uploads`(guide: String) throws {
        let rows = ComingFromTable(try Self.text("Docs/\(guide).md")).rows
        let code = rows.compactMap { $0.code?.joined(separator: "\n") }
        for topic in Self.topics where !code.contains(where: { $0.contains(topic) }) {
            Issue.record("Docs/\(guide).md: no row has \(topic)")
        }
        // A feature that is missing is named, with what to do instead.
        for absence in ["does not download", "does not cache responses", "ask the system"] {
            #expect(rows.contains { $0.code == nil && $0.note.contains(absence) }, "\(absence)")
        }
    }

    private static let topics = [
        "form.append(.file(", ".data(", ".stream(", "session.start(", "onProgress(on:", "onCompletion",
        "foundationProgress", "task.response", ".cancelAll()", "taggedWith", "pause", "resume", "options.priority",
        "configuration.maximumConcurrentTransfers", "options.retry", "options.transfer.limits", "configuration.headers",
        "JSONEnvelope", "session.run(chain)", "uploadAll", "deduplicationKey", "pinnedKeys", "certificateAuthorities",
        "configuration.cookies", "transfer.proxy",
    ]

    @Test func `every guide has its source file and a link in the README`() throws {
        let docs = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Docs").path)
        #expect(Set(docs.filter { $0.hasPrefix("ComingFrom") }) == Set(Self.allGuides.map { $0 + ".md" }))
        let folder = Self.root.appending(path: "Tests/DocumentationTests/ComingFrom").path
        let sources = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(sources) == Set(Self.allGuides.map { $0 + ".swift" }))
        let readme = try Self.text("README.md")
        let missing = Self.allGuides.filter { !readme.contains("(Docs/\($0).md)") }
        #expect(missing.isEmpty)
    }

    @Test func `differences between rows and regions are detected`() {
        let markdown = """
            | Theirs | Waybill | |
            | --- | --- | --- |
            | `go:` | `start(a)`<br>`stop()` | both |
            | `a`, `b` | none | do without |
            """
        let source = """
            // row: go:
            start(a)
            stop()
            // end
            // none: a, b
            """
        let table = ComingFromTable(markdown)
        #expect(table.problems.isEmpty)
        #expect(table.rows.map(\.code) == [["start(a)", "stop()"], nil])
        #expect(Self.differences(between: table, and: source).isEmpty)
        let wrong: [(String, String)] = [
            ("start(a)", "start(b)"), ("row: go:", "row: gone:"), ("none: a, b", "none: a"), ("stop()\n", ""),
            ("// none: a, b", "// row: a, b\nlet a = 1\n// end"), ("// end", "// end\n// row: go:\nstart(a)\n// end"),
            ("// none", "// row: more\nmore()\n// end\n// none"), ("// none: a, b", "// none: a, b\n// none: c"),
        ]
        for (right, wrong) in wrong {
            let changed = source.replacingOccurrences(of: right, with: wrong)
            #expect(!Self.differences(between: table, and: changed).isEmpty, "\(wrong)")
        }
    }

    @Test(arguments: [
        "| A | Ours | |", "| A | Waybill | |\n| --- | --- | --- |\n| a | `b` |",
        "| A | Waybill | |\n| --- | --- | --- |\n| a | b | c |",
        "| A | Waybill | |\n| --- | --- | --- |\n| a | none | |",
        "| A | Waybill | |\n| --- | --- | --- |\n| a | `b` and `c` | |",
        "| A | Waybill | |\n| --- | --- | --- |\n| | `b` | |",
    ])
    func `a malformed table is reported`(markdown: String) {
        #expect(!ComingFromTable(markdown).problems.isEmpty)
    }

    /// Returns the rows and regions that exist in only one of the two, or differ.
    private static func differences(between table: ComingFromTable, and source: String) -> [String] {
        let regions = Samples.marked("row", in: source)
        let absent = source.split(separator: "\n").compactMap { line -> String? in
            let content = line.drop { $0 == " " }
            return content.hasPrefix("// none: ") ? String(content.dropFirst("// none: ".count)) : nil
        }
        var differences: [String] = []
        let names = table.rows.map(\.theirs)
        for name in Set(names) where names.count(where: { $0 == name }) > 1 {
            differences.append("several rows are named \(name)")
        }
        for row in table.rows {
            let found = regions.filter { $0.name == row.theirs }
            if row.commandLine != nil { continue }
            if let code = row.code {
                let wanted = Samples.normalized(code.joined(separator: "\n"))
                if found.map({ Samples.normalized($0.text) }) != [wanted] {
                    differences.append("line \(row.line): no region \"row: \(row.theirs)\", or not with this text")
                }
            } else if absent.count(where: { $0 == row.theirs }) != 1 {
                differences.append("line \(row.line): no line \"none: \(row.theirs)\"")
            }
        }
        for region in regions where !table.rows.contains(where: { $0.theirs == region.name && $0.code != nil }) {
            differences.append("the region \"row: \(region.name)\" has no row")
        }
        for name in absent where !table.rows.contains(where: { $0.theirs == name && $0.code == nil }) {
            differences.append("\"none: \(name)\" has no row")
        }
        return differences
    }
}
