import ArgumentParser
import TestSupport
import Testing
import Waybill
import WaybillStores

@testable import WaybillCLI

/// The output while uploads run, driven by explicit times.
struct ReporterTests {
    private let retry = UploadRetry(
        reason: "503 Service\u{1B}[2J", delay: .seconds(2), timeLeft: .seconds(2), number: 1, limit: 3)

    private func progress(_ phase: UploadPhase, retry: UploadRetry? = nil) -> UploadProgress {
        UploadProgress(
            phase: phase, attempt: 1, sent: 500, acknowledged: 500, total: 1_000, bytesPerSecond: 100, retry: retry)
    }

    private func batch(_ acknowledged: Int64) -> UploadBatchProgress {
        var options = UploadBatchOptions()
        options.expectedSizes = [1_000]
        var ledger = BatchState(window: 1, buffer: 1, count: 1, options: options)
        _ = ledger.take()
        ledger.progress(0, acknowledged: acknowledged, total: nil, isTransferring: true, at: .zero)
        return UploadBatchProgress(ledger.sums(at: .zero), bytesPerSecond: 100, overallRate: 100, elapsed: .zero)
    }

    @Test func `a retry shows its delay, reason and number`() {
        #expect(RetryText.text(retry) == "retrying in 2 s: 503 Service\\u{1b}[2J (attempt 2 of 4)")
        #expect(RetryText.text(retry, after: .milliseconds(1_100)).hasPrefix("retrying in 1 s: "))
        #expect(RetryText.text(retry, after: .seconds(5)).hasPrefix("retrying now: "))
        let long = UploadRetry(reason: "x", delay: .seconds(90), timeLeft: .seconds(90), number: 5, limit: 3)
        #expect(RetryText.text(long) == "retrying in 1:30: x (attempt 6 of 6)")
        #expect(ProgressLine(progress(.retrying, retry: retry)).bar(columns: 30) == "retrying in 2 s: 503 Service…")
        #expect(ProgressLine(progress(.retrying)).bar(columns: 60) == "renewing the credential")
    }

    @Test func `without a terminal lines are paced, and each retry has one`() {
        let lines = Watched<[String]>([])
        let reporter = PlainReporter(every: .seconds(10)) { line in lines.update { $0.append(line) } }
        reporter.update(progress(.sending), at: .zero)
        for second in 0..<35 { reporter.tick(at: .seconds(second)) }
        #expect(lines.value == Array(repeating: "sending: 50 %, 500 of 1000 B, 100 B/s, ETA 0:05", count: 3))
        reporter.update(progress(.retrying, retry: retry), at: .seconds(35))
        reporter.update(progress(.retrying, retry: retry), at: .seconds(36))
        reporter.tick(at: .seconds(80))
        #expect(lines.value.count == 4 && lines.value.last?.hasPrefix("retrying in 2 s: 503 ") == true)
    }

    @Test func `an interval of 0 disables progress lines`() throws {
        let lines = Watched<[String]>([])
        let options = try PostCommand.parse(["http://localhost", "--progress-interval", "0"]).output.progress
        let reporter = PlainReporter(every: try options.interval(isJSON: false)) { line in
            lines.update { $0.append(line) }
        }
        reporter.update(progress(.sending), at: .zero)
        reporter.tick(at: .seconds(1_000))
        #expect(lines.value.isEmpty)
        let usual = try PutCommand.parse(["a", "oss://b"]).output.progress
        #expect(try usual.interval(isJSON: false) == .seconds(60) && usual.interval(isJSON: true) == .seconds(1))
    }

    @Test func `lines for many files are paced, and each retry has one`() {
        let lines = Watched<[String]>([])
        let reporter = BatchReporter(
            .lines(every: .seconds(30)), console: .standard, write: { line in lines.update { $0.append(line) } },
            transfers: { _ in [] })
        reporter.update(batch(250))
        for second in 0..<61 { reporter.tick(at: .seconds(second)) }
        reporter.retry("a.jpg", retry)
        let line = "0 of 1 file: 25 %, 250 of 1000 B, 100 B/s, ETA 0:08"
        #expect(lines.value == [line, line, "a.jpg: retrying in 2 s: 503 Service\\u{1b}[2J (attempt 2 of 4)"])
    }

    @Test func `the progress of a put counts bytes, not files`() async throws {
        let files = [12, 88].enumerated().map { PutFile(path: "\($0)", key: "\($0)", size: $1) }
        let isFirstSeen = Watched(false)
        let batch = PutBatch(
            of: files, parallel: 1, failsEarly: false, progress: PutProgress(files: files),
            start: { file in
                var transfer = PutTransfer(failing: StoreError(.invalidArgument, "no"))
                transfer.size = file.size
                let isFirst = file.path == "0"
                transfer.end = {
                    if isFirst { return .success(PutStored(url: "u")) }
                    _ = try? await isFirstSeen.waitUntil { $0 }
                    return .failure(StoreError(.invalidArgument, "no"))
                }
                return transfer
            })
        var last: UploadBatchProgress?
        for await progress in batch.progress {
            if progress.ended == 1, progress.executing == 1 {
                #expect(progress.fraction == 0.12)
                isFirstSeen.update { $0 = true }
            }
            last = progress
        }
        #expect(last?.fraction == 1 && last?.isFinished == true && last?.acknowledged == 12 && last?.failed == 1)
        #expect(batch.acknowledged == 12 && isFirstSeen.value)
    }

    @Test func `a retry of a put is reported once, and its row counts down`() {
        let progress = PutProgress(files: [PutFile(path: "a.jpg", key: "a", size: 100)])
        progress.begin(0, at: .zero)
        let count = PutSnapshot(acknowledged: 10, bytesPerSecond: 0, retry: retry)
        #expect(progress.update(0, count, at: .seconds(1)) == retry)
        #expect(progress.update(0, count, at: .seconds(1)) == nil)
        let transfer = progress.transfers(at: .seconds(2)).first
        #expect(transfer?.stage == .retrying && transfer?.retry?.timeLeft == .seconds(1))
        #expect(progress.update(0, PutSnapshot(acknowledged: 20, bytesPerSecond: 5), at: .seconds(3)) == nil)
        #expect(progress.transfers(at: .seconds(3)).first?.stage == .sending)
        progress.end(0, at: .seconds(4))
        #expect(progress.transfers(at: .seconds(4)).isEmpty && progress.time(of: 0) == .seconds(4))
    }
}
