import TestSupport
import Testing

/// What a package fetches that depends on this one.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct LeanPackageTests {
    @Test(arguments: [
        ("Waybill", "[]", ["swift-http-types", "swift-log"]),
        ("WaybillStores", "[\"Stores\"]", ["swift-asn1", "swift-crypto", "swift-http-types", "swift-log"]),
        ("WaybillOutbox", "[\"Outbox\"]", ["grdb.swift", "swift-http-types", "swift-log"]),
    ])
    func `a package fetches what the products it uses need, and no more`(
        _ product: String, _ traits: String, _ expected: [String]
    ) async throws {
        let folder = try TemporaryDirectory()
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "guest",
                dependencies: [.package(name: "waybill", path: "\(ProjectRoot.path)", traits: \(traits))],
                targets: [
                    .executableTarget(name: "guest", dependencies: [.product(name: "\(product)", package: "waybill")])
                ])
            """
        try folder.write("Package.swift", manifest)
        // The package manager wants a source, though it builds nothing here.
        let made = try await ChildProcess.run("mkdir", ["-p", folder.path("Sources/guest")])
        #expect(made.exit == .status(0))
        try folder.write("Sources/guest/main.swift", "")
        let resolved = try await ChildProcess.run("swift", ["package", "--package-path", folder.path, "resolve"])
        try #require(resolved.exit == .status(0), "\(resolved.errorText)")
        let lines = try String(decoding: folder.read("Package.resolved"), as: UTF8.self).split(separator: "\n")
        let identities = lines.compactMap { line -> String? in
            guard line.contains("\"identity\"") else { return nil }
            return line.split(separator: "\"").last { $0 != "," }.map(String.init)
        }
        #expect(identities.sorted() == expected)
    }
}
