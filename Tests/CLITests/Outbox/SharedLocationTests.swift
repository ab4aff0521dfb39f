import ArgumentParser
import TestSupport
import Testing
import WaybillOutbox

@testable import WaybillCLI

/// The URL of a database as the location of an outbox.
@Suite struct SharedLocationTests {
    private static let url = "postgresql://me:hunter2@db.example:5432/uploads?password=hunter2"

    @Test func `URLs of PostgreSQL are distinguished from directories`() {
        for path in ["postgresql://db/x", "postgres://db/x", "postgresql:///x?host=/run"] {
            #expect(OutboxLocation(path: path).isShared)
        }
        for path in ["postgresql", "/postgresql://x", "mysql://db/x"] { #expect(!OutboxLocation(path: path).isShared) }
    }

    @Test func `the password of a URL is not shown`() {
        let shown = OutboxLocation(path: Self.url).shown
        #expect(shown.hasPrefix("postgresql://") && shown.contains("@db.example:5432/uploads"))
        #expect(!shown.contains("hunter2"))
        #expect(OutboxLocation(path: "/a?b@c").shown == "/a?b@c")
    }

    @Test func `a dry run prints no password`() async throws {
        let run = try await Tool.run(
            ["post", "http://127.0.0.1:1/", "-F", "a=b", "--queue", "--dry-run", "--json", "--outbox", Self.url])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.contains("db.example:5432") && !run.text.contains("hunter2"))
    }

    @Test(arguments: [
        ["outbox", "ls"], ["outbox", "run"], ["outbox", "check"], ["outbox", "pause", "--all"],
        ["post", "http://127.0.0.1:1/", "-F", "a=b", "--queue"],
    ])
    func `a database that cannot be reached is reported without its password`(words: [String]) async throws {
        let url = "postgresql://me:hunter2@/uploads?host=/nonexistent&password=hunter2"
        let run = try await Tool.run(words + ["--outbox", url])
        #if Shared
            #expect(run.exit == .status(75) && run.errorText.contains("Could not connect"), "\(run.errorText)")
        #else
            #expect(run.exit == .status(2) && run.errorText.contains("--traits Command,Shared"), "\(run.errorText)")
        #endif
        #expect(!run.errorText.contains("hunter2") && !run.text.contains("hunter2"))
    }

    @Test func `--pin is stored with the options of the upload`() throws {
        let options = try QueueOptions.parse(["--queue", "--pin"]).options()
        #expect(options.allowsPinning && options.fileStorage == .reference)
        #expect(try !QueueOptions.parse(["--queue"]).options().allowsPinning)
    }
}
