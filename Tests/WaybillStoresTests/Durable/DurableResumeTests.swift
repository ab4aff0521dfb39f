import Foundation
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct `Durable store uploads, interrupted` {
    @Test(arguments: [true, false])
    func `an upload stopped at random sends no part that the store lists`(_ isOSS: Bool) async throws {
        var random = SeededGenerator()
        let fixture = try DurableFixture()
        let file = try fixture.file(isOSS ? 30 * 102_400 + 7 : 12 << 20)
        var outbox = try await fixture.open()
        if isOSS {
            try await outbox.enqueue(try await fixture.toOSS(file.path))
        } else {
            try await outbox.enqueue(try await fixture.toQiniu(file.path))
        }
        for _ in 1...5 {
            let wanted = fixture.openParts + Int.random(in: 1...(isOSS ? 4 : 2), using: &random)
            let run = Task { [outbox] in try await outbox.runUntilIdle(session: fixture.session) }
            if isOSS {
                fixture.oss.once({ $0.uploads.values.reduce(0) { $0 + $1.parts.count } >= wanted }) { run.cancel() }
            } else {
                fixture.qiniu.once({ $0.uploads.values.reduce(0) { $0 + $1.parts.count } >= wanted }) { run.cancel() }
            }
            try await run.value
            await outbox.close()
            _ = try await fixture.oss.settled()
            _ = try await fixture.qiniu.settled()
            outbox = try await fixture.open()
        }
        try await fixture.deliver(outbox)
        let comment: Comment = "seed \(random.seed)"
        #expect(try await outbox.tally()[.done] == 1, comment)
        if isOSS {
            #expect(fixture.oss.object("k")?.content.crc64 == CRC(.ecma, of: file.bytes).value, comment)
            #expect(fixture.oss.object("k")?.timesStored == 1 && fixture.oss.state.log(.initiate).count == 1, comment)
            let counts = fixture.oss.state.counts.values
            #expect(counts.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 && $0.stored == 1 }, comment)
        } else {
            #expect(fixture.qiniu.object("k")?.content.size == file.bytes.count, comment)
            #expect(fixture.qiniu.object("k")?.timesStored == 1 && fixture.qiniu.state.log(.begin).count == 1, comment)
            let counts = fixture.qiniu.state.counts.values
            #expect(counts.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 && $0.stored == 1 }, comment)
        }
        // Resume records are stored only in the queue.
        #expect(try fixture.folder.names().sorted() == ["film.mov", "outbox"])
        await outbox.close()
    }

    @Test func `a failing part costs neither earlier parts nor an attempt`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000_000)
        let outbox = try await fixture.open { $0.retry.maxAttempts = 2 }
        var configuration = try fixture.ossConfiguration
        configuration.maximumConcurrentParts = 1
        try await outbox.enqueue(
            try await DurableOSSUpload(file: file.path, to: "k", configuration: configuration, credential: "test"))
        // A delivery completes some parts and then reaches one that fails four times, which ends it; three retries
        // twice are within the session's budget.
        for part in [3, 6] { fixture.oss.fail(.html(status: 500), on: .uploadPart, part: part, times: 4) }
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered, "\(result.message ?? ""), \(result.item.reason ?? "")")
        #expect(fixture.oss.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(fixture.oss.state.log(.uploadPart).count { $0.status == 500 } == 8)
        await outbox.close()
    }

    @Test func `a file replaced between deliveries starts a new upload and aborts the old one`()
        async throws
    {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let outbox = try await fixture.open()
        var options = EnqueueOptions()
        options.onChange = .restart
        try await outbox.enqueue(try await fixture.toOSS(file.path), options: options)
        let run = Task { try await outbox.runUntilIdle(session: fixture.session) }
        fixture.oss.once({ $0.uploads.values.contains { !$0.parts.isEmpty } }) { run.cancel() }
        try await run.value
        _ = try await fixture.oss.settled()
        let later = try fixture.file(400_000, seed: 8)
        try await fixture.deliver(outbox)
        #expect(try await outbox.tally()[.done] == 1)
        #expect(fixture.oss.object("k")?.content.crc64 == CRC(.ecma, of: later.bytes).value)
        #expect(fixture.oss.state.aborted.count == 1 && fixture.oss.state.uploads.isEmpty)
        await outbox.close()
    }

    @Test func `the number of record writes is bounded for 10,000 parts`() async throws {
        let kept = Watched<[[UInt8]]>([])
        let fixture = try DurableFixture()
        let recordStore = DeliveryRecordStore(fixture.delivery(kept: kept))
        let source = try await SourceFile.look(at: try fixture.file(10).path)
        var subject = ResumeSubject(endpoint: "e", bucket: "b", key: "k", source: source, path: "/p", partSize: 1)
        subject.clearDevice()
        var record = ResumeRecord(subject: subject, uploadID: "u")
        try await recordStore.save(record)
        for number in 1...10_000 {
            record.parts.append(PartReceipt(number: number, size: 1, tag: "t"))
            if number % 50 == 0 || number < 200 { try await recordStore.note(record) }
        }
        #expect((60...400).contains(kept.value.count))
        guard case .usable(let found) = try await recordStore.load(subject, at: 0) else {
            Issue.record("it can be gone on from")
            return
        }
        #expect(found.parts.count > 9_700)
        await recordStore.remove()
        #expect(try await recordStore.load(subject, at: 0) == .none && kept.value.last == [])
    }
}
