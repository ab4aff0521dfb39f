import TestSupport
import Testing

@testable import WaybillCurl

/// How much of a body was sent through TLS, according to the kernel's counts: never too much, and nearly all of it.
@Suite struct TLSByteCounterTests {
    /// Sends chunks of all sizes in records, samples after each record, and compares with the truth.
    @Test(arguments: [22, 29, 85, 250]) func `the estimate is monotonic and never too high`(overhead: Int) {
        var random = SeededGenerator()
        var count = TLSByteCounter()
        var (body, wire) = (0, 700)
        var before: Int64 = 0
        for _ in 0..<200 {
            count.align(body: Int64(body), writtenAtMost: UInt64(wire + Int.random(in: 0...1_000, using: &random)))
            var left = Int.random(in: 1...(256 << 10), using: &random)
            let piece = left
            let start = body
            while left > 0 {
                let record = min(left, TLSByteCounter.maxRecordSize)
                (left, body, wire) = (left - record, body + record, wire + record + overhead)
                let missed = Int.random(in: 0...2_000, using: &random)
                let sent = count.bytesSent(writtenAtLeast: UInt64(max(0, wire - missed)))
                #expect(sent <= Int64(body) && sent >= before, "seed \(random.seed)")
                // What may have been acknowledged while sampling, and the maximum overhead of records.
                let least = body - 1_000 - missed - ((body - start) / TLSByteCounter.maxRecordSize + 2) * 256
                #expect(sent >= Int64(least), "of a piece of \(piece), seed \(random.seed)")
                before = sent
            }
        }
    }

    @Test func `before the first chunk the count stays 0`() {
        var count = TLSByteCounter()
        #expect(count.bytesSent(writtenAtLeast: 5_000) == 0)
        count.align(body: 0, writtenAtMost: 5_000)
        #expect(count.bytesSent(writtenAtLeast: 5_000) == 0)
        #expect(count.bytesSent(writtenAtLeast: 4_000) == 0)
        #expect(count.bytesSent(writtenAtLeast: 5_100) == 0)
    }

    /// libcurl may request more data while a few kilobytes are not sent yet.
    @Test func `a lower alignment does not decrease the count`() {
        var count = TLSByteCounter()
        count.align(body: 0, writtenAtMost: 1_000)
        let sent = count.bytesSent(writtenAtLeast: 6_000)
        #expect(sent > 4_000)
        count.align(body: 0, writtenAtMost: 6_000)
        #expect(count.bytesSent(writtenAtLeast: 6_000) == sent)
    }

    @Test func `a lower sample does not decrease the count`() {
        var count = TLSByteCounter()
        count.align(body: 1_000, writtenAtMost: 2_000)
        let sent = count.bytesSent(writtenAtLeast: 100_000)
        #expect(sent > 90_000)
        #expect(count.bytesSent(writtenAtLeast: 50_000) == sent)
        #expect(count.bytesSent(writtenAtLeast: 1_500) == sent)
    }
}
