import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// `make dist` with a small program in place of the release build. The program links the same libraries and runs the
/// command that was built with the tests.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct DistTests {
    private struct Packages {
        let folder: TemporaryDirectory
        let output: String
        var tarball: String { get throws { try path(endingIn: ".tar.gz") } }
        var deb: String { get throws { try path(endingIn: ".deb") } }

        func path(endingIn ending: String) throws -> String {
            try folder.path(#require(folder.names().first { $0.hasSuffix(ending) }, "\(output)"))
        }
    }

    private let standIn: TemporaryDirectory

    init() async throws {
        standIn = try TemporaryDirectory()
        let source = try standIn.write(
            "program.c",
            """
            #include <stdio.h>
            #include <unistd.h>
            #include <jpeglib.h>
            #include <curl/curl.h>
            #include <sqlite3.h>
            int main(int count, char **words) {
                struct jpeg_error_mgr errors;
                if (count < 1 || !curl_version() || !sqlite3_libversion() || !jpeg_std_error(&errors)) return 1;
                execv("\(Tool.path)", words);
                return 1;
            }
            """)
        let compiled = try await ChildProcess.run(
            "clang", ["-O1", source, "-o", standIn.path("program"), "-lcurl", "-ljpeg", "-lsqlite3"])
        #expect(compiled.exit == .status(0), "\(compiled.errorText)")
    }

    private func makePackages(_ time: String? = "1000000000") async throws -> Packages {
        let folder = try TemporaryDirectory()
        var environment = Tool.environment()
        environment["SOURCE_DATE_EPOCH"] = time
        let run = try await ChildProcess.run(
            "make", ["dist", "WAYBILL_PROGRAM=\(standIn.path("program"))", "DIST=\(folder.path)"],
            environment: environment, directory: ProjectRoot.path)
        #expect(run.exit == .status(0), "\(run.text)\(run.errorText)")
        return Packages(folder: folder, output: run.text + run.errorText)
    }

    private func run(_ program: String, _ arguments: [String]) async throws -> String {
        let run = try await ChildProcess.run(program, arguments)
        #expect(run.exit == .status(0), "\(run.errorText)")
        return run.text
    }

    @Test func `builds with the same program and time are identical`() async throws {
        let (first, second) = (try await makePackages(), try await makePackages())
        #expect(try first.folder.names() == second.folder.names())
        for name in try first.folder.names() {
            #expect(try first.folder.read(name) == second.folder.read(name), "\(name)")
        }
    }

    @Test func `the tarball has one top directory named for version and machine`() async throws {
        let packages = try await makePackages()
        let machine = try await run("uname", ["-m"]).trimmingCharacters(in: .whitespacesAndNewlines)
        let top = "waybill-\(WaybillCommand.version)-linux-\(machine)"
        #expect(try packages.tarball == packages.folder.path("\(top).tar.gz"))
        let lines = try await run(
            "tar", ["--list", "--verbose", "--full-time", "--utc", "--numeric-owner", "-f", packages.tarball]
        ).split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(" 0/0 ") && $0.contains(" 2001-09-09 01:46:40 \(top)/") }, "\(lines)")
        for name in [
            "LICENSE", "THIRD-PARTY-NOTICES", "bin/waybill", "share/man/man1/waybill.1",
            "share/bash-completion/completions/waybill", "share/zsh/site-functions/_waybill",
            "share/fish/vendor_completions.d/waybill.fish", "share/doc/waybill/systemd/waybill-outbox.service",
        ] { #expect(lines.contains { $0.hasSuffix(" \(top)/\(name)") }, "\(name)") }
    }

    @Test(.enabled(if: Tool.has("dpkg-shlibdeps"), "dpkg-dev is not installed"))
    func `the Debian package depends on the libraries that the program needs`() async throws {
        let packages = try await makePackages()
        let architecture = try await run("dpkg", ["--print-architecture"]).trimmingCharacters(in: .newlines)
        #expect(
            try packages.deb == packages.folder.path("waybill_\(WaybillCommand.version)_\(architecture).deb"))
        #expect(try await run("dpkg-deb", ["--field", packages.deb, "Version"]) == "\(WaybillCommand.version)\n")
        let needed = try await run("dpkg-deb", ["--field", packages.deb, "Depends"])
        #expect(needed.firstMatch(of: /libcurl4(?:t64)? \(>= 7\.87\)/) != nil, "\(needed)")
        for library in ["libc6 (>=", "libjpeg", "libsqlite3-0"] { #expect(needed.contains(library), "\(needed)") }

        let files = try await run("dpkg-deb", ["--contents", packages.deb]).split(separator: "\n")
        #expect(files.allSatisfy { $0.contains(" root/root ") })
        for name in [
            "bin/waybill", "share/man/man1/waybill.1.gz", "share/bash-completion/completions/waybill",
            "share/zsh/vendor-completions/_waybill", "share/fish/vendor_completions.d/waybill.fish",
            "share/doc/waybill/copyright", "share/doc/waybill/THIRD-PARTY-NOTICES",
        ] { #expect(files.contains { $0.hasSuffix(" ./usr/\(name)") }, "\(name)") }

        let root = try TemporaryDirectory()
        _ = try await run("dpkg-deb", ["--extract", packages.deb, root.path])
        let unit = try String(
            contentsOfFile: root.path("usr/share/doc/waybill/systemd/waybill-outbox.service"), encoding: .utf8)
        #expect(unit.contains("\nExecStart=/usr/bin/waybill "))
    }

    @Test func `file times default to the last commit or to the changelog`() async throws {
        let packages = try await makePackages(nil)
        let commit = try await ChildProcess.run("git", ["log", "-1", "--format=%ct"], directory: ProjectRoot.path)
        let changed = try await run("stat", ["-c", "%Y", ProjectRoot.file("CHANGELOG.md")])
        let isRepository = FileManager.default.fileExists(atPath: ProjectRoot.file(".git"))
        let expected = (isRepository && commit.exit == .status(0) ? commit.text : changed).prefix { $0 != "\n" }
        let root = try TemporaryDirectory()
        _ = try await run("tar", ["--extract", "-C", root.path, "--strip-components=1", "-f", packages.tarball])
        #expect(try await run("stat", ["-c", "%Y", root.path("LICENSE")]) == "\(expected)\n")
    }
}
