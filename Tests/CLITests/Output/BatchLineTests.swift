import Testing
import WaybillCore

@testable import Waybill
@testable import WaybillCLI

@Suite struct BatchLineTests {
    static func progress(
        count: Int? = 12, ended: Int = 3, failed: Int = 1, acknowledged: Int64 = 1_300_000, total: Int64? = 5_242_880,
        rate: Double = 1_153_434, timeLeft: Duration? = .seconds(4),
        isEstimated: Bool = false
    ) -> UploadBatchProgress {
        var ledger = BatchState(window: 5, buffer: 5, count: count)
        for index in 0..<ended {
            _ = ledger.take()
            _ = ledger.end(index, index < failed ? .failed : .succeeded, acknowledged: 0, total: 0, hasReader: true)
        }
        var progress = UploadBatchProgress(
            ledger.sums(at: .seconds(1)), bytesPerSecond: rate, overallRate: rate, elapsed: .seconds(1))
        (progress.acknowledged, progress.total, progress.timeLeft) = (acknowledged, total, timeLeft)
        (progress.fraction, progress.isEstimated) = (count.map { Double(ended) / Double($0) }, isEstimated)
        return progress
    }

    @Test(arguments: [
        (120, "3 of 12 files  25 % [=======>                    ]  1.2 of 5.0 MiB  1.1 MiB/s  ETA 0:04  1 failed"),
        (80, "3 of 12 files  25 % [==>       ]  1.2 of 5.0 MiB  1.1 MiB/s  ETA 0:04  1 failed"),
        (60, "3 of 12 files  25 %  1.2 of 5.0 MiB  ETA 0:04  1 failed"),
        (40, "3 of 12 files  25 %  ETA 0:04  1 failed"), (20, "3 of 12 files  25 %"), (10, "3 of 12 …"),
    ]) func `a bar of many files drops fields that do not fit`(_ columns: Int, _ line: String) {
        #expect(ProgressLine(Self.progress()).bar(columns: columns) == line)
    }

    @Test func `a bar of many files is narrower than the terminal`() {
        for columns in 1...150 {
            for count in [nil, 1, 100_000] {
                let line = ProgressLine(Self.progress(count: count, ended: 1)).bar(columns: columns)
                #expect(TerminalText.columns(of: line) <= max(columns - 1, 1), "\(columns): \(line)")
            }
        }
    }

    @Test func `a plain line has the same figures and omits unknown ones`() {
        #expect(
            ProgressLine(Self.progress()).plain
                == "3 of 12 files: 25 %, 1.2 of 5.0 MiB, 1.1 MiB/s, ETA 0:04, 1 failed")
        #expect(
            ProgressLine(Self.progress(count: nil, failed: 0, total: nil, rate: 0, timeLeft: nil)).plain
                == "3 files: 1.2 MiB")
    }

    @Test func `an estimated total is marked`() {
        let line = ProgressLine(Self.progress(isEstimated: true)).plain
        #expect(line == "3 of 12 files: 25 %, 1.2 of ~5.0 MiB, 1.1 MiB/s, ETA 0:04, 1 failed")
    }

    @Test func `a summary counts files that were not started and exits as the first failure`() throws {
        var summary = FilesSummary(files: 5, verb: "accepted")
        let failed = { (code: UploadError.Code) in
            PostReport(
                result: .failure(UploadError(code, "why", phase: .failed)), progress: nil, time: .zero, signal: nil)
        }
        let missing = failed(.fileNotFound)
        summary.add(3, failed(.cannotConnect).ending, exit: .transient)
        summary.add(1, missing.ending, exit: missing.exit)
        let cancelled = failed(.cancelled)
        summary.add(0, cancelled.ending, exit: cancelled.exit)
        summary.acknowledged = 2_048
        summary.time = .milliseconds(1_500)
        #expect(summary.line == "0 of 5 files accepted, 2.0 KiB in 1.5 s: 2 failed, 1 cancelled, 2 not started")
        #expect(summary.exit == .source)
        summary.signal = 15
        #expect(summary.exit == .terminated)
    }
}
