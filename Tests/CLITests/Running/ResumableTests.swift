import Foundation
import Glibc
import TestSupport
import Testing
import WaybillCore

/// Resumable uploads with the real program.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct ResumableTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func waybill(_ arguments: String...) async throws -> ChildProcess.Finished {
        try await Tool.run(arguments, environment: ["XDG_STATE_HOME": folder.path("state")])
    }

    @Test func `a form is sent in appends, and the response is printed`() async throws {
        let server = try ResumableServer(.draft8) { $0.limits.maxAppend = 1_000_000 }
        let file = try folder.write("film.mp4", SeededGenerator.pattern(3_000_000))
        let run = try await waybill("post", server.url(), "-F", "a=1", "-F", "f=@\(file)", "--resumable", "auto")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.hasPrefix("stored"))
        #expect(server.applicationRuns.count == 1)
        #expect(server.state.requests(.append, .finish).count == 4)
    }

    @Test func `the command run again continues the form`() async throws {
        let server = try ResumableServer(.draft8) { $0.limits.maxAppend = 1_000_000 }
        server.script(.on(.append, 2, .cut(afterBytes: 500_000, keeping: .all, closing: .reset)))
        let file = try folder.write("film.mp4", SeededGenerator.pattern(3_000_000))
        let words = ["post", server.url(), "-F", "a=1", "-F", "f=@\(file)", "--resumable", "draft"]
        let environment = ["XDG_STATE_HOME": folder.path("state")]
        let first = try await Tool.run(words, environment: environment)
        #expect(first.exit == .status(5), "\(first.errorText)")
        let second = try await Tool.run(words, environment: environment)
        #expect(second.exit == .status(0), "\(second.errorText)")
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.map { $0.content.size > 3_000_000 } == [true])
        #expect(server.requests.reduce(0) { $0 + $1.bodyBytes } < 3_100_000)
    }

    @Test func `files are uploaded to a tus server, and their URLs are printed`() async throws {
        let server = try ResumableServer(.tus)
        let (a, b) = (try folder.write("a.txt", "first"), try folder.write("b.bin", "second"))
        let run = try await waybill("put", a, b, "tus+" + server.url())
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(
            Set(run.text.split(separator: "\n").map(String.init)) == Set(server.uploads.map { server.url($0.path) }))
        let runs = server.applicationRuns.sorted { $0.bytes.count < $1.bytes.count }
        #expect(runs.map(\.bytes) == [Array("first".utf8), Array("second".utf8)])
        #expect(runs.map { String(decoding: $0.metadata["filename"] ?? [], as: UTF8.self) } == ["a.txt", "b.bin"])
    }

    @Test func `a file is uploaded to a tus server in parts`() async throws {
        let server = try ResumableServer(.tus)
        let bytes = SeededGenerator.pattern(5_000_000)
        let file = try folder.write("film.mp4", bytes)
        let run = try await waybill("put", file, "tus+" + server.url(), "--parts-at-once", "3")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text == server.url("/uploads/4") + "\n")
        #expect(server.uploads.map(\.part) == [.partial, .partial, .partial, .final])
        #expect(server.applicationRuns.map(\.bytes) == [bytes])
    }

    @Test func `a server without the draft is a usage of another option`() async throws {
        let server = try LoopbackServer(.respond(404), .respond(404), otherwise: .respond(400))
        let file = try folder.write("film.mp4", SeededGenerator.pattern(2_000_000))
        let run = try await waybill("post", server.url(), "-F", "f=@\(file)", "--resumable", "draft")
        #expect(run.exit == .status(1), "\(run.exit)")
        #expect(run.errorText.contains("does not support resumable uploads"))
    }

    @Test func `doctor prints what a server offers`() async throws {
        let both = try ResumableServer([.tus, .draft6]) { $0.limits.maxSize = 1_048_576 }
        let run = try await waybill("doctor", both.url())
        #expect(run.text.contains("resumable uploads by the IETF draft: interop version 6; at most 1.0 MiB each"))
        #expect(run.text.contains("resumable uploads by tus: 1.0.0; extensions checksum, "))
        let neither = try LoopbackServer(otherwise: .respond(404))
        let other = try await waybill("doctor", neither.url())
        #expect(other.text.contains("by the IETF draft: not offered") && other.text.contains("by tus: not offered"))
        #expect(neither.requests.allSatisfy { $0.method == "OPTIONS" })
    }

    @Test func `another value of the option is reported before anything is sent`() async throws {
        let run = try await waybill("post", "http://127.0.0.1:1/", "-F", "a=1", "--resumable", "maybe")
        #expect(run.exit == .status(2))
        #expect(run.errorText.contains("--resumable"))
    }

    /// The number of processes that are killed; `make torture` kills 200.
    private static let kills = unsafe getenv("WAYBILL_TORTURE") == nil ? 8 : 200

    @Test func `a killed process continues from its record, and sends at most one append again`() async throws {
        var random = SeededGenerator()
        let length = 12_000_000
        let bytes = SeededGenerator.pattern(length)
        let file = try folder.write("film.mp4", bytes)
        for number in 0..<Self.kills {
            let dialect: ResumableServer.Dialect = number % 4 == 0 ? .draft8 : .tus
            let parts = number % 2 == 0 ? 1 : 3
            // The digest of a concatenation can be determined only from its bytes.
            let server = try ResumableServer(dialect) { $0.keepsBodies = parts > 1 }
            let words =
                dialect == .tus
                ? ["put", file, "tus+" + server.url("/\(number)"), "--parts-at-once", "\(parts)"]
                : ["post", server.url("/\(number)"), "-F", "f=@\(file)", "--resumable", "draft"]
            let environment = ["XDG_STATE_HOME": folder.path("state")]
            let limit = Int.random(in: 0...length, using: &random)
            let child = try Tool.start(words, environment: environment)
            server.once({ state in state.requests.reduce(0) { $0 + $1.bodyBytes } >= limit && !state.uploads.isEmpty })
            {
                child.signal(SIGKILL)
            }
            _ = try await child.finish()
            let second = try await Tool.run(words, environment: environment)
            #expect(second.exit == .status(0), "\(second.errorText), killed at \(limit), seed \(random.seed)")
            let state = try await server.settled()
            #expect(state.applicationRuns.count == 1, "killed at \(limit), seed \(random.seed)")
            // A process that is killed before the URL is on the disk leaves an empty upload, or one for each part.
            #expect(state.uploads.count <= (parts == 1 ? 2 : 2 * parts + 1))
            let received = state.requests.reduce(0) { $0 + $1.bodyBytes }
            // One append of each part, if it was part of the creation.
            #expect(received <= length + (parts == 1 ? 8_400_000 : length), "killed at \(limit), seed \(random.seed)")
            if dialect == .tus { #expect(state.applicationRuns[0].content.digest == BodyDigest(of: bytes)) }
        }
    }

    private struct PowerCuts: Decodable {
        var skipped: String?
        /// The numbers of the uploads that a cut interrupted, and the errors of those that did not continue.
        var interrupted: [Int]?
        var failures: [String]?
    }

    @Test func `an upload continues after a power cut, and at most one append is sent again`() async throws {
        var random = SeededGenerator()
        let length = 12_000_000
        let file = try folder.write("film.mp4", SeededGenerator.pattern(length))
        let server = try ResumableServer(.tus) { $0.keepsBodies = false }
        let run = try await ChildProcess.run(
            "python3",
            [
                ProjectRoot.file("Scripts/powercut"), Tool.path, "put", "\(Self.kills)",
                "\(UInt32.random(in: .min ... .max, using: &random))", file, "tus+" + server.url(),
            ])
        print("power cuts of uploads: \(run.text)", terminator: "")
        let report = try JSONDecoder().decode(PowerCuts.self, from: Data(run.output))
        if report.skipped != nil { return }
        #expect(run.exit == .status(0) && report.failures == [], "\(run.errorText)")
        let state = try await server.settled()
        for number in try #require(report.interrupted) {
            let created = state.uploads.filter { $0.creation.path.hasSuffix("/\(number)") }
            let requests = state.requests.filter { request in created.contains { $0.id == request.upload } }
            #expect(created.filter(\.isComplete).count == 1, "upload \(number), seed \(random.seed)")
            // A cut before the URL is on the disk leaves an empty upload.
            #expect(created.count <= 2, "upload \(number), seed \(random.seed)")
            #expect(requests.reduce(0) { $0 + $1.bodyBytes } <= length + 8_400_000, "upload \(number)")
        }
    }
}
