import Foundation
import TestSupport
import Testing

/// A package that does not enable the trait `Shared` neither includes nor links libpq.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct SharedTraitTests {
    @Test func `Shared is a default trait of our own builds only, and the condition of every use of libpq`()
        async throws
    {
        let client = try await manifest { $0["WAYBILL_CI"] = nil }
        #expect(client.defaultTraits == ["Command", "Images", "Outbox", "Stores"])
        #expect(try await manifest { $0["WAYBILL_CI"] = "1" }.defaultTraits == client.defaultTraits.union(["Shared"]))
        let uses = client.targets.flatMap { target in
            (target.settings ?? []).filter { ["pq", "WAYBILL_SHARED"].contains($0.kind.values.first?["_0"]) }
                .map { "\(target.name): \($0.condition?.traits ?? [])" }
        }
        #expect(uses == Array(repeating: "CWaybillPostgres: [\"Shared\"]", count: 2))
    }

    @Test func `without the trait, the C target includes no header of libpq`() async throws {
        let target = ProjectRoot.file("Sources/CWaybillPostgres")
        for (define, isIncluded) in [([], false), (["-DWAYBILL_SHARED"], true)] {
            let run = try await ChildProcess.run(
                "clang", ["-M", "-I\(target)/include"] + define + ["\(target)/CWaybillPostgres.c"])
            #expect(run.exit == .status(0), "\(run.errorText)")
            #expect(run.text.contains("CWaybillPostgres.c"))
            #expect(run.text.contains("libpq") == isIncluded, "\(run.text)")
        }
    }

    @Test func `without the trait, the Swift target compiles`() async throws {
        let target = URL(filePath: ProjectRoot.file("Sources/WaybillPostgres"))
        let files = FileManager.default.enumerator(at: target, includingPropertiesForKeys: nil)?
            .compactMap { ($0 as? URL)?.path }.filter { $0.hasSuffix(".swift") }
        let run = try await ChildProcess.run(
            "swiftc", ["-typecheck", "-swift-version", "6", "-package-name", "waybill"] + (files ?? []))
        #expect(run.exit == .status(0) && files?.isEmpty == false, "\(run.errorText)")
    }

    private struct Manifest: Decodable {
        struct Trait: Decodable {
            let name: String
            let enabledTraits: [String]
        }
        struct Target: Decodable {
            let name: String
            let settings: [Setting]?
        }
        struct Setting: Decodable {
            struct Condition: Decodable { let traits: [String]? }
            let kind: [String: [String: String]]
            let condition: Condition?

            private enum Key: CodingKey { case kind, condition }
            init(from decoder: any Decoder) throws {
                let fields = try decoder.container(keyedBy: Key.self)
                // The values of other settings are lists or nothing.
                kind = (try? fields.decode([String: [String: String]].self, forKey: .kind)) ?? [:]
                condition = try fields.decodeIfPresent(Condition.self, forKey: .condition)
            }
        }
        let traits: [Trait]
        let targets: [Target]

        var defaultTraits: Set<String> { Set(traits.first { $0.name == "default" }?.enabledTraits ?? []) }
    }

    private func manifest(_ change: (inout [String: String]) -> Void) async throws -> Manifest {
        var environment = ProcessInfo.processInfo.environment
        change(&environment)
        let folder = try TemporaryDirectory()
        // With a directory of its own: a build of this package may be running.
        let run = try await ChildProcess.run(
            "swift",
            ["package", "--package-path", ProjectRoot.path, "--scratch-path", folder.path("build"), "dump-package"],
            environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        return try JSONDecoder().decode(Manifest.self, from: Data(run.output))
    }
}
