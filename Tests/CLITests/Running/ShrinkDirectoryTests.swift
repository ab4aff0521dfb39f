import Glibc
import TestSupport
import Testing

@testable import WaybillCLI

/// The directories and files that `shrink` leaves behind.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ShrinkDirectoryTests {
    private let folder: TemporaryDirectory
    private let card: String

    init() throws {
        folder = try TemporaryDirectory()
        card = try folder.write("card.jpg", NoisePhoto.bytes(width: 320, height: 240, seed: 3))
    }

    private func shrink(_ words: String..., umask mask: String = "022") async throws -> ChildProcess.Finished {
        let options = ["--max-bytes", "9KB", "--mode", "draft"]
        return try await ChildProcess.run(
            "sh", ["-c", "umask \(mask) && exec \"$@\"", "sh", Tool.path, "shrink"] + words + options,
            environment: Tool.environment(), directory: folder.path)
    }

    private func mode(_ name: String) -> mode_t {
        var status = stat()
        guard unsafe stat(folder.path(name), &status) == 0 else { return 0 }
        return status.st_mode & 0o7777
    }

    @Test func `missing directories are created with the permissions of the umask`() async throws {
        let run = try await shrink(
            "card.jpg", "-o", "small/deep/{name}.jpg", "--report", "pages/page.html", umask: "027")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try folder.read("small/deep/card.jpg").count <= 9_000)
        #expect(try folder.read("pages/page.html").isEmpty == false)
        for name in ["small", "small/deep", "pages"] { #expect(mode(name) == 0o750, "\(name)") }
    }

    @Test(
        arguments: [
            (0o666, "022", 0o644), (0o666, "002", 0o664), (0o640, "0", 0o640), (0o400, "022", 0o600),
            (0o644, "077", 0o600),
        ] as [(mode_t, String, mode_t)])
    func `a result has the permissions of a copy of its original, and keeps those of a file that it replaces`(
        original: mode_t, umask: String, expected: mode_t
    ) async throws {
        #expect(unsafe chmod(card, original) == 0)
        let run = try await shrink("card.jpg", "-o", "small.jpg", umask: umask)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(mode("small.jpg") == expected)
        #expect(unsafe chmod(folder.path("small.jpg"), 0o604) == 0)
        let again = try await shrink("card.jpg", "-o", "small.jpg", "--force", umask: umask)
        #expect(again.exit == .status(0), "\(again.errorText)")
        #expect(mode("small.jpg") == 0o604)
    }

    @Test(arguments: [["missing.jpg"], ["text.jpg"], ["text.jpg", "missing.jpg"]])
    func `a run without results leaves no report and no directory`(_ names: [String]) async throws {
        try folder.write("text.jpg", "this is no picture")
        let before = try folder.names()
        let report = ["-o", "small/deep/{name}.jpg", "--report", "pages/page.html"]
        let run = try await ChildProcess.run(
            "env", [Tool.path, "shrink"] + names + ["--max-bytes", "9KB"] + report, environment: Tool.environment(),
            directory: folder.path)
        #expect(run.exit == .status(3), "\(run.errorText)")
        #expect(try folder.names() == before)
    }

    @Test func `directories that were created concurrently are all removed`() async throws {
        for round in 0..<300 {
            let directories = CreatedDirectories()
            let root = folder.path("round-\(round)")
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { try? directories.createParents(of: "\(root)/a/b/c\(number % 2)/image.jpg") }
                }
            }
            directories.removeEmpty()
        }
        #expect(try folder.names().allSatisfy { !$0.hasPrefix("round-") })
    }

    @Test func `a failed image does not remove the directory of another one`() async throws {
        let run = try await shrink("card.jpg", "missing.jpg", "-o", "out/{name}/x.jpg", "--report", "page.html")
        #expect(run.exit == .status(3), "\(run.errorText)")
        #expect(mode("out/card/x.jpg") != 0 && mode("page.html") != 0)
        #expect(mode("out/missing") == 0)
    }

    @Test func `an existing directory is kept even if it is empty`() async throws {
        #expect(unsafe mkdir(folder.path("small"), 0o700) == 0)
        let run = try await shrink("missing.jpg", "-o", "small/new/x.jpg")
        #expect(run.exit == .status(3), "\(run.errorText)")
        #expect(mode("small") == 0o700 && mode("small/new") == 0)
    }

    @Test func `two spellings of one output path are refused before a directory is created`() async throws {
        let run = try await shrink("card.jpg", "-o", "new/deep/../card.html", "--report", "./new/card.html", "--force")
        #expect(run.exit == .status(2), "\(run.errorText)")
        #expect(mode("new") == 0)
    }

    @Test func `a report that cannot be written leaves nothing behind`() async throws {
        let run = try await shrink("card.jpg", "-o", "small/card.jpg", "--report", "card.jpg/page.html")
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(try folder.names() == ["card.jpg"])
    }
}
