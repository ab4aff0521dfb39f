import Glibc
import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

/// A kill, or a disk error, at each call that changes a file or sends data. `WAYBILL_TORTURE=1` runs every point,
/// otherwise a sample.
@Suite(.serialized, .timeLimit(.minutes(30 * Slowness.factor))) struct FaultPointTests {
    private static let isTorture = unsafe getenv("WAYBILL_TORTURE") != nil
    private static let uploads = 3

    @Test func `a kill at any call while enqueuing keeps reported items and leaves nothing else`() async throws {
        var random = SeededGenerator()
        let count = try await Self.enqueueCallCount()
        let points = Self.points([.kill, .tear], upTo: count, spread: 24, using: &random)
        try await forEachPoint(points) { point in
            let directory = try TemporaryDirectory()
            let path = directory.path("outbox")
            let run = try await point.start(["stage", path, "http://127.0.0.1:1/u", "\(Self.uploads)"]).finish()
            #expect(run.exit == .signal(Int(SIGKILL)), "\(point): \(run.text)\(run.errorText)")
            try await Self.check(path, run, point, unreported: 1)
        }
        print("killed at \(points.count) points of \(count) calls that enqueue")
    }

    @Test(arguments: [true, false])
    func `a kill at any call while delivering or recovering loses and duplicates nothing`(
        honoursKeys: Bool
    ) async throws {
        var random = SeededGenerator()
        let count = try await Self.deliveryCallCount()
        let points = Self.points([.kill, .tear], upTo: count, spread: 16, using: &random).map {
            ($0, FaultPoint(fault: .kill, first: Int.random(in: 1...count, using: &random)))
        }
        try await forEachPoint(points) { first, second in
            let directory = try TemporaryDirectory()
            let server = try Self.server(honoursKeys)
            let run = KillRun(uploads: Self.uploads, honoursKeys: honoursKeys)
            let digests = try await run.fill(directory.path("outbox"), server, staging: true)
            let words = ["idle", directory.path("outbox")]
            let end = try await first.start(words).finish()
            // The n-th call differs slightly between runs: the last ones may not be reached.
            #expect([.signal(Int(SIGKILL)), .status(0)].contains(end.exit), "\(first): \(end.text)\(end.errorText)")
            _ = try await second.start(words).finish()
            let last = try await ChildProcess.run(KillRun.worker, words)
            #expect(last.exit == .status(0), "\(first), \(second): \(last.text)\(last.errorText)")
            var results = KillRun.Results()
            try await run.check(&results, directory.path("outbox"), server, digests)
            #expect(results.isClean, "\(first), \(second): \(results)")
            #expect(
                results.delivered + (honoursKeys ? 0 : results.doubtful) == Self.uploads,
                "\(first), \(second): \(results)")
        }
        print(
            "killed at \(points.count) points of \(count) calls that deliver, keys \(honoursKeys ? "honoured" : "ignored")"
        )
    }

    @Test func `a disk error at any call while enqueuing is reported and loses no reported item`()
        async throws
    {
        var random = SeededGenerator()
        let count = try await Self.enqueueCallCount(FaultPoint.disk)
        let points = Self.faults(upTo: count, spread: 24, using: &random)
        try await forEachPoint(points) { point in
            let directory = try TemporaryDirectory()
            let path = directory.path("outbox")
            let words = ["stage", path, "http://127.0.0.1:1/u", "\(Self.uploads)"]
            let run = try await point.start(words).finish()
            #expect(Set(run.errorCodes).isSubset(of: Self.diskErrorCodes), "\(point): \(run.text)")
            // Without an outbox it can't continue: then it reported the error and exited.
            let isOpen = run.exit == .status(0)
            #expect(
                isOpen ? run.reportedIDs.count == Self.uploads : run.exit == .status(3),
                "\(point): \(run.text)\(run.errorText)")
            #expect(isOpen || !run.errorCodes.isEmpty, "\(point): \(run.text)")
            try await Self.check(path, run, point, unreported: 0)
        }
        print("failed at \(points.count) points of \(count) calls that enqueue")
    }

    @Test func `a disk error at any call while delivering leaves each upload one effect`() async throws {
        var random = SeededGenerator()
        let count = try await Self.deliveryCallCount(FaultPoint.disk)
        let points = Self.faults(upTo: count, spread: 16, using: &random)
        try await forEachPoint(points) { point in
            let directory = try TemporaryDirectory()
            // A server that ignores keys reveals each unnecessary request.
            let server = try Self.server(false)
            let run = KillRun(uploads: Self.uploads, honoursKeys: false)
            let digests = try await run.fill(directory.path("outbox"), server, staging: true)
            let words = ["idle", directory.path("outbox")]
            let first = try await point.start(words).finish()
            #expect([.status(0), .status(3)].contains(first.exit), "\(point): \(first.text)\(first.errorText)")
            #expect(Set(first.errorCodes).isSubset(of: Self.diskErrorCodes), "\(point): \(first.text)")
            let last = try await ChildProcess.run(KillRun.worker, words)
            #expect(last.exit == .status(0), "\(point): \(last.text)\(last.errorText)")
            var results = KillRun.Results()
            try await run.check(&results, directory.path("outbox"), server, digests)
            #expect(results.isClean && results.delivered == Self.uploads, "\(point): \(results)\n\(first.text)")
        }
        print("failed at \(points.count) points of \(count) calls that deliver")
    }

    @Test func `strace counts the same file calls as the fault injection`() async throws {
        let directory = try TemporaryDirectory()
        let words = ["stage", directory.path("outbox"), "http://127.0.0.1:1/u", "1"]
        let counted = try await FaultPoint.count(words, calls: "cst")
        let calls = "fsync,fdatasync,ftruncate,open,openat"
        let trace: ChildProcess.Finished
        do {
            trace = try await ChildProcess.run(
                "strace",
                ["-f", "-qq", "-e", "trace=\(calls)", "-e", "signal=none", KillRun.worker]
                    + words.map {
                        $0 == words[1] ? directory.path("another") : $0
                    })
        } catch {
            print("system calls were not counted: strace can't be started (\(error))")
            return
        }
        guard trace.exit == .status(0) else {
            print("system calls were not counted: \(trace.errorText.split(separator: "\n").last ?? "strace failed")")
            return
        }
        let seen = trace.errorText.split(separator: "\n").count { line in
            // The thread sanitizer creates a file before `main`.
            guard line.contains(" = ") || line.contains("unfinished"), !line.contains("/tsan.") else { return false }
            return line.contains("sync(") || line.contains("ftruncate(") || line.contains("O_CREAT")
        }
        #expect(seen == counted, "\(trace.errorText)")
    }
}

extension FaultPointTests {
    /// `notDurable`: if the log can't be created, SQLite continues without it, but the outbox refuses to.
    private static let diskErrorCodes: Set<String> = [
        "diskFull", "storageFailed", "directoryUnusable", "queueUnusable", "notDurable",
    ]

    private static func server(_ honoursKeys: Bool) throws -> VerifyingServer {
        var random = SeededGenerator(seed: 0)
        return try VerifyingServer(honoursKeys: honoursKeys, faults: 0, outOf: 1, using: &random)
    }

    private static func enqueueCallCount(_ calls: String = FaultPoint.everything) async throws -> Int {
        let directory = try TemporaryDirectory()
        return try await FaultPoint.count(
            ["stage", directory.path("outbox"), "http://127.0.0.1:1/u", "\(uploads)"], calls: calls)
    }

    private static func deliveryCallCount(_ calls: String = FaultPoint.everything) async throws -> Int {
        let directory = try TemporaryDirectory()
        let server = try server(true)
        _ = try await KillRun(uploads: uploads, honoursKeys: true).fill(directory.path("outbox"), server, staging: true)
        return try await FaultPoint.count(["idle", directory.path("outbox")], calls: calls)
    }

    /// Every point, or a sample from beginning to end.
    private static func points(
        _ faults: [FaultPoint.Fault], upTo count: Int, spread: Int, using random: inout SeededGenerator
    ) -> [FaultPoint] {
        guard !isTorture else {
            return faults.flatMap { fault in (1...count).map { FaultPoint(fault: fault, first: $0) } }
        }
        return (0..<spread).map { share in
            let range = share * count / spread + 1...max(share * count / spread + 1, (share + 1) * count / spread)
            return FaultPoint(fault: faults[share % faults.count], first: Int.random(in: range, using: &random))
        }
    }

    private static func faults(upTo count: Int, spread: Int, using random: inout SeededGenerator) -> [FaultPoint] {
        points([.fail(EIO), .fail(ENOSPC), .fail(EROFS)], upTo: count, spread: spread, using: &random).map { point in
            var point = point
            point.calls = FaultPoint.disk
            point.times = [1, 2, 5, 12].randomElement(using: &random)!
            return point
        }
    }

    /// Checks what an enqueuing worker left behind.
    private static func check(
        _ path: String, _ run: ChildProcess.Finished, _ point: FaultPoint, unreported: Int
    ) async throws {
        let outbox = try await Outbox(at: path)
        var existing: Set<Int64> = []
        for try await item in outbox.items() {
            existing.insert(item.id.rawValue)
            #expect(item.state == .ready, "\(point)")
        }
        #expect(existing.isSuperset(of: run.reportedIDs), "\(point): reported \(run.reportedIDs), existing \(existing)")
        #expect(
            existing.count <= run.reportedIDs.count + unreported,
            "\(point): reported \(run.reportedIDs), existing \(existing), \(run.text)")
        let spool = Spool(directory: outbox.path + "/spool")
        #expect(spool.fileNames().count == existing.count, "\(point)")
        for name in spool.fileNames() {
            #expect(try readFile(spool.path(name)) == [UInt8](repeating: 65, count: 40_000), "\(point)")
        }
        #expect(try await outbox.owner?.store.checkIntegrity() == "ok", "\(point)")
        await outbox.close()
    }
}

extension KillRun.Results {
    /// Whether no violation was found.
    var isClean: Bool {
        lost.isEmpty && duplicated.isEmpty && stuck.isEmpty && altered.isEmpty && unknownRequests == 0
            && orphans.isEmpty && integrity == "ok"
    }
}
