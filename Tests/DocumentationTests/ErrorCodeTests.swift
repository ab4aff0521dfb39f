import Foundation
import Testing

/// The page of error codes lists each public code once, with its types and a remedy.
struct ErrorCodeTests {
    /// A code of an error type.
    struct Code: Hashable, CustomStringConvertible {
        var type: String
        var name: String
        var description: String { "\(type).\(name)" }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `each public error code has its row, and each row its code`() throws {
        let page = try String(contentsOf: Self.root.appending(path: "Docs/ErrorCodes.md"), encoding: .utf8)
        let (rows, problems) = Self.rows(of: page)
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
        let declared = try Self.declaredInSources()
        #expect(Set(declared.map(\.type)).isSuperset(of: Self.types))
        let documented = Set(rows.flatMap(\.codes))
        #expect(declared.subtracting(documented).isEmpty, "codes without a row")
        #expect(documented.subtracting(declared).isEmpty, "rows without a declared code")
        let names = rows.map(\.name)
        #expect(Set(names).count == names.count, "codes with two rows")
    }

    /// `StoreError` and `UploadError` document that codes keep their names when errors are wrapped.
    @Test func `every code of a transfer error is a code of an upload error`() throws {
        let declared = try Self.declaredInSources()
        let transferCodes = declared.filter { $0.type == "TransferError" }.map(\.name)
        let uploadCodes = declared.filter { $0.type == "UploadError" }.map(\.name)
        #expect(!transferCodes.isEmpty)
        #expect(Set(transferCodes).isSubset(of: uploadCodes))
    }

    @Test func `codes are found however they are declared, and non-public ones are omitted`() {
        let source = """
            public struct OneError: Error, Sendable {
                public struct Code: Sendable {
                    public static let first = Code("first")
                }
            }
            extension TwoError.Code {
                public static let second = Self("second")
                static let hidden = Self("hidden")
            }
            """
        #expect(
            Self.codes(in: source) == [Code(type: "OneError", name: "first"), Code(type: "TwoError", name: "second")])
    }

    @Test(arguments: [
        "| a | UploadError | Something happened, so do this. |", "| `a` | | Something happened, so do this. |",
        "| `a` | UploadError | So. |", "| `a` | UploadError |",
    ])
    func `an incomplete row is reported`(row: String) {
        let head = "| Code | Of | What happened, and what to do |\n| --- | --- | --- |\n"
        let (_, problems) = Self.rows(of: head + row)
        #expect(problems.count == 1)
    }

    private static let types: Set<String> = [
        "UploadError", "TransferError", "BodyError", "JPEGError", "StoreError", "OutboxError", "TestingError",
    ]

    private static func declaredInSources() throws -> Set<Code> {
        let folder = root.appending(path: "Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        return try paths.reduce(into: []) { found, path in
            found.formUnion(codes(in: try String(contentsOf: folder.appending(path: path), encoding: .utf8)))
        }
    }

    private static func codes(in source: String) -> Set<Code> {
        var type: String?
        var codes: Set<Code> = []
        for line in source.split(separator: "\n") {
            if let match = line.firstMatch(of: /extension (\w+)\.Code\b/) ?? line.firstMatch(of: /struct (\w+): Error/)
            {
                type = String(match.1)
            } else if let match = line.firstMatch(of: /public static let \w+ = (?:Self|Code)\("(\w+)"\)/), let type {
                codes.insert(Code(type: type, name: String(match.1)))
            }
        }
        return codes
    }

    private struct Row {
        var name: String
        var codes: [Code]
    }

    private static func rows(of markdown: String) -> (rows: [Row], problems: [String]) {
        var rows: [Row] = []
        var problems: [String] = []
        for (index, line) in markdown.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("|"), !line.hasPrefix("| ---"), !line.hasPrefix("| Code |") else { continue }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, let name = cells[0].wholeMatch(of: /`(\w+)`/)?.1, !cells[1].isEmpty,
                cells[2].count > 20
            else {
                problems.append("line \(index + 1): expected a code, its types and a remedy: \(line)")
                continue
            }
            let types = cells[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            rows.append(Row(name: String(name), codes: types.map { Code(type: $0, name: String(name)) }))
        }
        return (rows, problems)
    }
}
