import Foundation
import TestSupport

/// A package that depends on this one, as a client would write it.
struct ClientPackage {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    /// Writes the package and replaces an existing one.
    ///
    /// - Parameters:
    ///   - path: The directory of the package. It is created.
    ///   - manifest: The text of `Package.swift`.
    /// - Throws: An error of the file system.
    init(at path: String, manifest: String) throws {
        self.path = path
        let sources = "\(path)/Sources/client"
        try FileManager.default.createDirectory(atPath: sources, withIntermediateDirectories: true)
        try Data(manifest.utf8).write(to: URL(filePath: "\(path)/Package.swift"))
        // The package manager requires a source file even if nothing is built.
        try Data().write(to: URL(filePath: "\(sources)/main.swift"))
    }

    /// Returns a manifest that depends on one product.
    static func manifest(product: String, traits: String) -> String {
        """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(
            name: "client",
            dependencies: [.package(name: "waybill", path: "\(ProjectRoot.path)", traits: \(traits))],
            targets: [
                .executableTarget(name: "client", dependencies: [.product(name: "\(product)", package: "waybill")])
            ])
        """
    }

    /// Resolves the package and returns the names of its dependencies.
    func resolved() async throws -> [String] {
        try await swift("package", "--package-path", path, "resolve")
        return try Self.resolved(in: path)
    }

    /// Returns the names of the packages in the `Package.resolved` of a directory.
    static func resolved(in path: String) throws -> [String] {
        let lines = try String(contentsOfFile: "\(path)/Package.resolved", encoding: .utf8).split(separator: "\n")
        return lines.compactMap { line -> String? in
            guard line.contains("\"identity\"") else { return nil }
            return line.split(separator: "\"").last { $0 != "," }.map(String.init)
        }.sorted()
    }

    private func swift(_ arguments: String...) async throws {
        let run = try await ChildProcess.run("swift", arguments)
        guard run.exit == .status(0) else {
            let line = "swift \(arguments.joined(separator: " "))"
            throw Failed(description: "\(line): \(run.exit)\n\(run.text)\(run.errorText)")
        }
    }
}
