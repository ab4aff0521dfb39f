import TestSupport
import Testing

@Suite(.timeLimit(.minutes(Slowness.factor)))
struct HelperTests {
    @Test func `a child receives its arguments, environment, input and directory`() async throws {
        let directory = try TemporaryDirectory()
        let run = try await ChildProcess.run(
            "/bin/sh", ["-c", "pwd; echo $GREETING $1; cat; echo oops >&2; exit 3", "sh", "two words"],
            environment: ["GREETING": "hello", "PATH": "/bin:/usr/bin"], input: Array("input".utf8),
            directory: directory.path)
        #expect(run.text == "\(directory.path)\nhello two words\ninput")
        #expect(run.errorText == "oops\n")
        #expect(run.exit == .status(3))
    }

    @Test func `a large input and a large output do not deadlock`() async throws {
        let bytes = [UInt8](repeating: 120, count: 3_000_000)
        let run = try await ChildProcess.run("cat", input: bytes)
        #expect(run.output.count == bytes.count)
        #expect(run.exit == .status(0))
    }

    @Test func `a program that ends with its input is ended, and keeps running while the input is open`() async throws {
        let words = ["-c", PostgresServer.endWithInput(), "sh", "sh", "-c", "echo ready; exec sleep 600"]
        let kept = try ChildProcess("sh", words, keepsInputOpen: true)
        try await kept.waitUntil { $0.text == "ready\n" }
        let ended = try await ChildProcess.run("sh", words)
        #expect(ended.exit == .signal(3))
        #expect(kept.writtenSoFar.finished == nil)
        kept.signal(3)
        #expect(try await kept.finish().exit == .signal(3))
    }

    @Test func `a child can be observed and killed`() async throws {
        let child = try ChildProcess("/bin/sh", ["-c", "echo ready; exec sleep 600"])
        #expect(try await child.waitUntil { $0.text == "ready\n" }.finished == nil)
        child.signal(9)
        #expect(try await child.finish().exit == .signal(9))
    }

    @Test func `the peak memory of a child excludes its parent's`() async throws {
        let small = try await ChildProcess.run("sleep", ["0.05"])
        #expect(small.peakResidentBytes > 100_000)
        #expect(small.peakResidentBytes < 8_000_000)
        let large = try await ChildProcess.run(
            "dd", ["if=/dev/zero", "of=/dev/null", "bs=64M", "count=20"])
        #expect(large.peakResidentBytes > 64_000_000)
    }

    @Test func `a program that does not exist is an error`() throws {
        #expect(throws: SystemCallFailure.self) { try ChildProcess("/no/such/program") }
    }

    @Test func `a temporary directory is private and removed at the end`() async throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(directory?.path)
        try directory?.write("a", "text")
        _ = try directory?.writeSparse("b", size: 1 << 33)
        #expect(try directory?.names() == ["a", "b"])
        #expect(try directory?.read("a") == Array("text".utf8))
        let listing = try await ChildProcess.run("stat", ["-c", "%a", path])
        #expect(listing.text == "700\n")
        directory = nil
        #expect(try await ChildProcess.run("stat", [path]).exit == .status(1))
    }

    @Test func `a seed repeats the same numbers`() {
        var first = SeededGenerator(seed: 42)
        var second = SeededGenerator(seed: 42)
        let bytes = first.bytes(1_001)
        #expect(bytes.count == 1_001)
        #expect(bytes == second.bytes(1_001))
        #expect(bytes != first.bytes(1_001))
        // The first value of SplitMix64 for the seed 1234567, as published by its author.
        var known = SeededGenerator(seed: 1_234_567)
        #expect(known.next() == 6_457_827_717_110_365_317)
    }

    @Test func `waiting observes each change and ends when cancelled`() async throws {
        let watched = Watched(0)
        let waiter = Task { try await watched.waitUntil { $0 >= 1_000 } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { for _ in 0..<100 { watched.update { $0 += 1 } } } }
        }
        #expect(try await waiter.value == 1_000)

        let hopeless = Task { try await watched.waitUntil { $0 < 0 } }
        hopeless.cancel()
        await #expect(throws: CancellationError.self) { try await hopeless.value }
    }

    @Test func `the project root is found`() throws {
        let manifest = try readFile(ProjectRoot.file("Package.swift"))
        #expect(String(decoding: manifest, as: UTF8.self).contains("name: \"waybill\""))
    }
}
