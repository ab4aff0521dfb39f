import Glibc
import TestSupport
import Testing
import Waybill

@testable import WaybillOutbox

/// `kill -9` at random moments. `WAYBILL_TORTURE=1` makes it ten times as long.
@Suite(.serialized, .timeLimit(.minutes(30 * Slowness.factor))) struct KillTests {
    private static let factor = unsafe getenv("WAYBILL_TORTURE") == nil ? 1 : 10

    @Test func `a server that honours keys gets everything once despite kills`() async throws {
        var random = SeededGenerator()
        var run = KillRun(honoursKeys: true)
        run.uploads *= Self.factor
        run.kills *= Self.factor
        let results = try await run.run(using: &random)
        print("kill -9, keys honoured: \(results)")
        #expect(results.delivered == run.uploads, "\(results)")
        #expect(results.isClean, "\(results)")
        #expect(results.doubtful == 0)
        // Kills before any request would prove nothing.
        #expect(results.repeatedBodies > 0 && results.kills == run.kills)
    }

    @Test func `a server that ignores keys gets nothing twice despite kills, and doubtful items are listed`()
        async throws
    {
        var random = SeededGenerator()
        var run = KillRun(honoursKeys: false)
        run.uploads *= Self.factor
        run.kills *= Self.factor
        let results = try await run.run(using: &random)
        print("kill -9, keys ignored: \(results)")
        #expect(results.delivered + results.doubtful == run.uploads, "\(results)")
        #expect(results.isClean, "\(results)")
        #expect(results.doubtful > 0 && results.repeatedBodies == 0)
    }

    @Test func `retrying unknown outcomes duplicates effects (control)`() async throws {
        var random = SeededGenerator()
        let run = KillRun(uploads: 300, kills: 20, faults: 60, honoursKeys: false, onUnknown: .retry)
        let results = try await run.run(using: &random)
        print("kill -9, control: \(results)")
        #expect(!results.duplicated.isEmpty)
    }

    @Test func `reported items survive a kill of the enqueuing process`() async throws {
        var random = SeededGenerator()
        let directory = try TemporaryDirectory()
        let path = directory.path("outbox")
        var reportedIDs: Set<Int64> = []
        for _ in 0..<10 {
            let child = try ChildProcess(KillRun.worker, ["add", path, "http://127.0.0.1:1/u", "100000"])
            let lines = Int.random(in: 1...60, using: &random)
            try await child.waitUntil { $0.output.count(where: { $0 == 10 }) >= lines }
            child.signal(SIGKILL)
            let end = try await child.finish()
            #expect(end.exit == .signal(Int(SIGKILL)), "\(end.errorText)")
            let whole = end.text.prefix(through: end.text.lastIndex(of: "\n") ?? end.text.startIndex)
            let ids = whole.split(separator: "\n").compactMap { Int64($0) }
            #expect(reportedIDs.isDisjoint(with: ids) && ids.count >= lines)
            reportedIDs.formUnion(ids)
        }
        let outbox = try await Outbox(at: path)
        var existing: Set<Int64> = []
        for try await item in outbox.items() { existing.insert(item.id.rawValue) }
        #expect(reportedIDs.isSubset(of: existing))
        #expect(try await outbox.owner?.store.checkIntegrity() == "ok")
        await outbox.close()
    }
}
