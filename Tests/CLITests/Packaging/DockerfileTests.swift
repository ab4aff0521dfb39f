import Foundation
import TestSupport
import Testing

/// The sample Dockerfile names things that exist. `Scripts/test-dist` runs its steps.
struct DockerfileTests {
    private struct Instruction {
        var name: String
        var rest: String
    }

    private let instructions: [Instruction]

    init() throws {
        let text = try String(contentsOfFile: ProjectRoot.file("Samples/Docker/Dockerfile"), encoding: .utf8)
        instructions = text.replacing(/\\\n\s*/, with: "").split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            let words = $0.split(separator: " ", maxSplits: 1)
            return Instruction(name: String(words[0]), rest: String(words[1]))
        }
    }

    private func rests(_ name: String) -> [String] { instructions.filter { $0.name == name }.map(\.rest) }

    /// The packages of each `apt-get install`.
    private var packages: [[String]] {
        rests("RUN").compactMap { $0.firstMatch(of: /apt-get install ([^&]*)/) }
            .map { $0.1.split(separator: " ").map(String.init).filter { !$0.hasPrefix("-") } }
    }

    @Test func `the first stage has Swift, and the last has no Swift and an unprivileged user`() throws {
        #expect(rests("FROM") == ["swift:6.3-bookworm AS build", "debian:bookworm-slim"])
        #expect(instructions.last { $0.name == "USER" }?.rest == "waybill")
        #expect(rests("RUN").contains { $0.hasPrefix("useradd ") && $0.hasSuffix(" waybill") })
    }

    @Test func `the Dockerfile builds a product and starts what the installer installs`() async throws {
        let manifest = try String(contentsOfFile: ProjectRoot.file("Package.swift"), encoding: .utf8)
        let build = try #require(rests("RUN").first { $0.hasPrefix("swift build ") })
        let product = try #require(build.firstMatch(of: /--product (\S+)/)).1
        #expect(manifest.contains(".executable(name: \"\(product)\""))
        #expect(build.contains(" --static-swift-stdlib "))

        // The installer command of the Dockerfile, except for the directory and the program.
        let line = try #require(rests("RUN").first { $0.hasSuffix("Scripts/install") })
        let stage = try TemporaryDirectory()
        let run = try await ChildProcess.run(
            "sh", ["-c", line.replacing("DESTDIR=/out", with: "DESTDIR='\(stage.path)/out'")],
            environment: Tool.environment(["WAYBILL_PROGRAM": Tool.path]), directory: ProjectRoot.path)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(rests("COPY").last == "--from=build /out/usr/ /usr/")
        let entry = try #require(rests("ENTRYPOINT").first).trimming(while: { "[]\"".contains($0) })
        #expect(FileManager.default.isExecutableFile(atPath: "\(stage.path)/out\(entry)"), "\(entry)")
    }

    @Test func `the build context contains no build products`() throws {
        #expect(rests("COPY").first == ". .")
        let ignored = try String(
            contentsOfFile: ProjectRoot.file("Samples/Docker/Dockerfile.dockerignore"), encoding: .utf8)
        // The context needs Scripts/dist, so `dist` is excluded without `**/`.
        #expect(ignored == "**/.git\n**/.build\n**/.build-*\ndist\n")
    }

    @Test func `every package of the Dockerfile is in the archive`() async throws {
        try #require(packages.count == 2)
        let setup = try String(contentsOfFile: ProjectRoot.file("Scripts/setup"), encoding: .utf8)
        for name in packages[0] { #expect(setup.contains(name), "\(name)") }
        let release = try? String(contentsOfFile: "/etc/os-release", encoding: .utf8)
        let lists = try? await ChildProcess.run("apt-cache", ["show", "base-files"])
        guard release?.contains("VERSION_CODENAME=bookworm") == true, lists?.exit == .status(0) else {
            print("no package lists of Debian bookworm: the Dockerfile's packages were not looked up")
            return
        }
        for name in packages.joined() {
            let run = try await ChildProcess.run("apt-cache", ["show", name])
            #expect(run.exit == .status(0), "\(name)")
        }
    }
}

extension String {
    /// Returns the string without the characters at both ends that satisfy the condition.
    fileprivate func trimming(while isMet: (Character) -> Bool) -> String {
        String(String(drop(while: isMet).reversed()).drop(while: isMet).reversed())
    }
}
