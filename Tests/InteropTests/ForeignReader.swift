import Foundation
import TestSupport

/// A third-party program that parses forms, and the properties of a form that its API cannot report.
struct ForeignReader: Sendable, CustomStringConvertible {
    /// What the program does to a form before its API returns it.
    struct Limitations: OptionSet, Sendable {
        let rawValue: Int
        /// The type of a part without a file name is not available.
        static let hidesTypesOfFields = Limitations(rawValue: 1)
        /// Fields and files are returned in separate lists.
        static let reportsFieldsFirst = Limitations(rawValue: 2)
        /// Of parts with the same name, only the last is available.
        static let keepsLastOfEqualNames = Limitations(rawValue: 4)
        /// Types are returned without their parameters.
        static let dropsTypeParameters = Limitations(rawValue: 8)
        /// A file without a name is not treated as a file and has no type.
        static let ignoresUnnamedFiles = Limitations(rawValue: 16)
    }

    private(set) var name: String
    private(set) var limitations: Limitations
    private let start: Start

    private enum Start: Sendable {
        case python, node, go, php
    }

    var description: String { name }

    /// The script of the reader.
    private var script: String {
        let fileExtension = [Start.python: "py", .node: "mjs", .go: "go", .php: "php"][start]!
        return ProjectRoot.file("Tests/InteropTests/Readers/read_\(name.lowercased()).\(fileExtension)")
            .replacing("python-multipart", with: "python_multipart")
    }

    static let all = [
        ForeignReader(name: "email", limitations: [], start: .python),
        ForeignReader(name: "werkzeug", limitations: [], start: .python),
        ForeignReader(name: "python-multipart", limitations: [], start: .python),
        ForeignReader(name: "multipart", limitations: [], start: .python),
        ForeignReader(name: "aiohttp", limitations: [], start: .python),
        ForeignReader(name: "Node", limitations: [.hidesTypesOfFields], start: .node),
        ForeignReader(name: "Go", limitations: [], start: .go),
        ForeignReader(
            name: "PHP",
            limitations: [
                .hidesTypesOfFields, .reportsFieldsFirst, .keepsLastOfEqualNames, .dropsTypeParameters,
                .ignoresUnnamedFiles,
            ], start: .php),
    ]

    /// The reader as implemented in this version: up to version 19, Node uses the parser of busboy. Debian 12 has
    /// that version.
    func adjusted(forVersion version: String) -> ForeignReader {
        guard start == .node, let major = version.firstMatch(of: /v(\d+)/).flatMap({ Int($0.1) }), major < 20 else {
            return self
        }
        var older = self
        older.name = "Node 18"
        older.limitations.formUnion([.reportsFieldsFirst, .dropsTypeParameters])
        return older
    }

    /// Reads all bodies of a batch.
    func read(_ batch: ReaderBatch) async throws -> Reading {
        let run: ChildProcess.Finished
        switch start {
        case .python:
            // Without byte code files: the checkout must not change.
            run = try await spawn("\(try await Self.cacheDirectory())/bin/python", ["-B", script, batch.path])
        case .node: run = try await spawn("node", [script, batch.path])
        case .php: run = try await spawn("php", ["-n", script, batch.path])
        case .go:
            let directory = try await Self.cacheDirectory()
            // The user's settings for modules and toolchains are ignored, and no C compiler is needed.
            run = try await spawn(
                "env",
                [
                    "GO111MODULE=off", "GOTOOLCHAIN=local", "GOFLAGS=", "GOENV=off", "CGO_ENABLED=0",
                    "GOPATH=\(directory)/go-path", "GOCACHE=\(directory)/go-cache", "go", "run", script, batch.path,
                ])
        }
        guard run.exit == .status(0) else {
            throw ReaderFailure(
                "\(name) ended with \(run.exit). Run make setup to install it.\n\(run.errorText)")
        }
        do {
            return try JSONDecoder().decode(Reading.self, from: Data(run.output))
        } catch {
            throw ReaderFailure("\(name) did not print JSON: \(error)\n\(run.text.prefix(2_000))\n\(run.errorText)")
        }
    }

    private func spawn(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Finished {
        do {
            return try await ChildProcess.run(program, arguments)
        } catch {
            throw ReaderFailure("Could not start \(program) (\(error)). Run make setup.")
        }
    }

    /// The directory in which `make setup` installs the pinned readers. Go caches its build there.
    static func cacheDirectory() async throws -> String {
        let run = try await ChildProcess.run(ProjectRoot.file("Scripts/readers"), ["where"])
        guard run.exit == .status(0) else { throw ReaderFailure(run.errorText) }
        return run.text.trimmingCharacters(in: .newlines)
    }
}

/// The reason for which a reader failed.
struct ReaderFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The output of a reader for a batch.
struct Reading: Decodable, Sendable {
    struct Form: Decodable, Sendable {
        let id: String
        let parts: [Part]?
        let refusal: String?
    }

    struct Part: Decodable, Sendable {
        let name: String?
        let fileName: String?
        let contentType: String?
        let content: Data
    }

    let version: String
    let forms: [Form]
}
