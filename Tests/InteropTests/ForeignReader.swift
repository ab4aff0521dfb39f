import Foundation
import TestSupport

/// A program of other people that reads forms, and what it can't say of a form however well it reads.
struct ForeignReader: Sendable, CustomStringConvertible {
    /// What the program makes of a form before anybody can ask for it.
    struct Habits: OptionSet, Sendable {
        let rawValue: Int
        /// The type of a part without a file name is not to be had.
        static let hidesTypesOfFields = Habits(rawValue: 1)
        /// Fields and files come in two lists.
        static let tellsFieldsFirst = Habits(rawValue: 2)
        /// Of parts with the same name, only the last is to be had.
        static let keepsLastOfEqualNames = Habits(rawValue: 4)
        /// Types come without their parameters.
        static let cutsTypes = Habits(rawValue: 8)
        /// A file without a name counts as no file: it has no type.
        static let ignoresNamelessFiles = Habits(rawValue: 16)
    }

    private(set) var name: String
    private(set) var habits: Habits
    private let start: Start

    private enum Start: Sendable {
        case python, node, go, php
    }

    var description: String { name }

    /// The script beside these tests.
    private var script: String {
        let ending = [Start.python: "py", .node: "mjs", .go: "go", .php: "php"][start]!
        return ProjectRoot.file("Tests/InteropTests/Readers/read_\(name.lowercased()).\(ending)")
            .replacing("python-multipart", with: "python_multipart")
    }

    static let all = [
        ForeignReader(name: "email", habits: [], start: .python),
        ForeignReader(name: "werkzeug", habits: [], start: .python),
        ForeignReader(name: "python-multipart", habits: [], start: .python),
        ForeignReader(name: "multipart", habits: [], start: .python),
        ForeignReader(name: "aiohttp", habits: [], start: .python),
        ForeignReader(name: "Node", habits: [.hidesTypesOfFields], start: .node),
        ForeignReader(name: "Go", habits: [], start: .go),
        ForeignReader(
            name: "PHP",
            habits: [
                .hidesTypesOfFields, .tellsFieldsFirst, .keepsLastOfEqualNames, .cutsTypes, .ignoresNamelessFiles,
            ], start: .php),
    ]

    /// The reader as it is here: up to its version 19, Node has another parser, which is busboy's. Debian 12 has that one.
    func inVersion(_ version: String) -> ForeignReader {
        guard start == .node, let major = version.firstMatch(of: /v(\d+)/).flatMap({ Int($0.1) }), major < 20 else {
            return self
        }
        var older = self
        older.name = "Node 18"
        older.habits.formUnion([.tellsFieldsFirst, .cutsTypes])
        return older
    }

    /// Has it read all bodies of a batch.
    func read(_ batch: ReaderBatch) async throws -> Reading {
        let run: ChildProcess.Finished
        switch start {
        case .python:
            // Without a file of byte code: the checkout stays as it is.
            run = try await spawn("\(try await Self.cacheFolder())/bin/python", ["-B", script, batch.path])
        case .node: run = try await spawn("node", [script, batch.path])
        case .php: run = try await spawn("php", ["-n", script, batch.path])
        case .go:
            let folder = try await Self.cacheFolder()
            // What the user has set up for modules and tool chains is not asked for, nor is a C compiler.
            run = try await spawn(
                "env",
                [
                    "GO111MODULE=off", "GOTOOLCHAIN=local", "GOFLAGS=", "GOENV=off", "CGO_ENABLED=0",
                    "GOPATH=\(folder)/go-path", "GOCACHE=\(folder)/go-cache", "go", "run", script, batch.path,
                ])
        }
        guard run.exit == .status(0) else {
            throw ReaderFailure(
                "\(name) ended with \(run.exit). Is all of it here? If not, run make setup.\n\(run.errorText)")
        }
        do {
            return try JSONDecoder().decode(Reading.self, from: Data(run.output))
        } catch {
            throw ReaderFailure("\(name) gave no JSON: \(error)\n\(run.text.prefix(2_000))\n\(run.errorText)")
        }
    }

    private func spawn(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Finished {
        do {
            return try await ChildProcess.run(program, arguments)
        } catch {
            throw ReaderFailure("\(program) can't be started (\(error)): run make setup.")
        }
    }

    /// Where `make setup` has put what is pinned; there is room for what Go compiles.
    static func cacheFolder() async throws -> String {
        let run = try await ChildProcess.run(ProjectRoot.file("Scripts/readers"), ["where"])
        guard run.exit == .status(0) else { throw ReaderFailure(run.errorText) }
        return run.text.trimmingCharacters(in: .newlines)
    }
}

/// Why a reader read nothing.
struct ReaderFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// What a reader said of a batch.
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
