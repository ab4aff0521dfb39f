import Testing
import Waybill

@testable import WaybillCLI

/// Rows for uploads in flight.
struct InFlightRowsTests {
    private func progress(
        _ acknowledged: [Int64], of total: Int64 = 100_000, sent: Int64 = 0, phase: UploadPhase = .sending
    ) -> UploadProgress {
        let parts = acknowledged.enumerated().map { index, count in
            PartProgress(name: "f\(index)", fileName: "\(index).jpg", acknowledged: count, total: total)
        }
        let all = Int64(acknowledged.count) * total + 400
        return UploadProgress(
            phase: phase, attempt: 1, sent: sent, acknowledged: acknowledged.reduce(200, +), total: all,
            parts: [PartProgress(name: "TOKEN", acknowledged: 10, total: 10)] + parts)
    }

    @Test func `each file of a form has its stage, and text fields have none`() {
        let stages = TransferRow.parts(of: progress([100_000, 40_000, 0])).map(\.stage)
        #expect(stages == [.acknowledged, .sending, .waiting])
        #expect(
            TransferRow.parts(of: progress([100_000, 40_000, 0], sent: 300_400)).map(\.stage) == [
                .acknowledged, .sent, .sent,
            ])
        #expect(TransferRow.parts(of: progress([0, 0])).map(\.stage) == [.sending, .waiting])
        #expect(TransferRow.parts(of: progress([40_000])).isEmpty)
        #expect(TransferRow.parts(of: progress([0, 0], phase: .connecting)).isEmpty)
    }

    @Test(arguments: [
        (
            80,
            [
                "  f0: 0.jpg  acknowledged  97.7 of 97.7 KiB", "  f1: 1.jpg  sending       39.1 of 97.7 KiB",
                "  f2: 2.jpg  waiting       0 B of 97.7 KiB",
            ]
        ), (40, ["  f0: 0.j…  acknowledged", "  f1: 1.j…  sending", "  f2: 2.j…  waiting"]),
        (16, ["  f0: 0.j…  ac…", "  f1: 1.j…  se…", "  f2: 2.j…  wa…"]),
    ])
    func `a row drops fields that do not fit`(_ columns: Int, _ lines: [String]) {
        let transfers = TransferRow.parts(of: progress([100_000, 40_000, 0]))
        #expect(InFlightRows.lines(transfers, columns: columns, rows: 24) == lines)
    }

    @Test func `when rows do not fit, files in flight are shown and others are counted`() {
        let transfers = TransferRow.parts(of: progress([100_000, 100_000, 40_000, 0, 0, 0]))
        let lines = InFlightRows.lines(transfers, columns: 80, rows: 5)
        #expect(
            lines == [
                "  f2: 2.jpg  sending       39.1 of 97.7 KiB", "  f3: 3.jpg  waiting       0 B of 97.7 KiB",
                "  and 2 acknowledged, 2 waiting",
            ])
        #expect(InFlightRows.lines(transfers, columns: 80, rows: 3).isEmpty)
    }

    @Test func `rows never exceed the width or height of the terminal`() {
        let names = ["f", "身份证正面身份证正面身份证正面", String(repeating: "long", count: 30), "\u{1B}[2J\u{202E}"]
        let transfers = (0..<40).map { index -> TransferRow in
            let stage: TransferRow.Stage = TransferRow.Stage.allCases[(index / 4) % 4]
            let total: Int64? = index % 3 == 0 ? nil : 1_099_511_627_776
            return TransferRow(name: names[index % 4], stage: stage, done: Int64(index), total: total)
        }
        for columns in 1...120 {
            for rows in 1...30 {
                let lines = InFlightRows.lines(transfers, columns: columns, rows: rows)
                #expect(lines.count <= min(InFlightRows.maxCount, max(0, rows - 2)))
                #expect(lines.allSatisfy { TerminalText.columns(of: $0) <= max(columns - 1, 1) })
            }
        }
    }

    @Test func `a file that waits for a retry shows the reason and the delay`() {
        let retry = UploadRetry(
            reason: "503 Service Unavailable", delay: .seconds(2), timeLeft: .milliseconds(1_200), number: 1, limit: 3)
        let progress = UploadProgress(phase: .retrying, attempt: 1, acknowledged: 10, total: 20, retry: retry)
        let transfers = [TransferRow("a.jpg", progress), TransferRow("b.jpg", done: 10, of: 20, retry: retry)]
        #expect(transfers.map(\.stage) == [.retrying, .retrying])
        #expect(
            InFlightRows.lines(transfers, columns: 80, rows: 24) == [
                "  a.jpg  retrying in 2 s: 503 Service Unavailable (attempt 2 of 4)",
                "  b.jpg  retrying in 2 s: 503 Service Unavailable (attempt 2 of 4)",
            ])
    }

    @Test func `erasing covers the rows that lines wrap to after a resize`() {
        #expect(BarBlock.erasing([], columns: 80) == "\r\u{1B}[K")
        #expect(BarBlock.erasing(["one"], columns: 80) == "\r\u{1B}[K")
        #expect(BarBlock.erasing(["one", "two"], columns: 80) == "\r\u{1B}[1A\u{1B}[J")
        let long = String(repeating: "x", count: 59)
        #expect(BarBlock.erasing([long, long], columns: 30) == "\r\u{1B}[3A\u{1B}[J")
    }
}
