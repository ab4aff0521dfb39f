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

    @Test(arguments: [
        "pgsql://me:hunter2@db/x", "POSTGRESQL://me:hunter2@db/x", " postgresql://me:hunter2@db/x",
        "postgresql:/db/hunter2",
        "mysql://db/x?password=hunter2", "host=db password=hunter2 dbname=x", "dbname = x",
    ])
    func `a database that is not named by its URL is no directory`(text: String) throws {
        for (named, variable) in [(text, ""), (nil, text)] {
            let error = #expect(throws: CommandFailure.self) {
                try OutboxLocation.path(named) { $0 == "WAYBILL_OUTBOX" ? variable : "" }
            }
            let message = try #require(error?.message)
            #expect(message.hasPrefix(named == nil ? "WAYBILL_OUTBOX must" : "--outbox must"))
            #expect(message.contains("postgresql://user@host/database") && !message.contains("hunter2"))
        }
    }

    @Test(arguments: ["/a=b", "a=b", "./host=a", "postgresql", "host", "C:"])
    func `other texts are directories`(text: String) throws {
        #expect(try OutboxLocation.path(text) { _ in "" } == text)
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
