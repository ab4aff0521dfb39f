import WaybillCore

extension BatchRun {
    package var results: AsyncValues<Output, Never> {
        AsyncValues { [self] in
            let reader = BatchReader(run: self)
            return { await reader.run.nextResult() }
        }
    }

    package var progress: AsyncValues<UploadBatchProgress, Never> {
        AsyncValues { [self] in
            let listener = BatchListener(run: self)
            return { await listener.next() }
        }
    }
}

/// A registration as a reader of a batch's results, which ends when it is released.
final class BatchReader<Item: Sendable, Upload: BatchUpload>: Sendable {
    let run: BatchRun<Item, Upload>

    init(run: BatchRun<Item, Upload>) {
        self.run = run
        run.change { $0.readers += 1 }
    }

    deinit {
        run.change { $0.readers -= 1 }
    }
}

/// A registration as a listener to a batch's progress, which ends when it is released.
final class BatchListener<Item: Sendable, Upload: BatchUpload>: Sendable {
    private struct State {
        var meter = BatchMeter()
        var seen: Int?
        var wasLast = false
    }

    /// The interval between snapshots: twenty per second.
    private static var pause: Duration { .milliseconds(50) }

    private let run: BatchRun<Item, Upload>
    private let state = Locked(State())

    init(run: BatchRun<Item, Upload>) {
        self.run = run
        run.addListener()
    }

    deinit {
        run.change { $0.listeners -= 1 }
    }

    func next() async -> UploadBatchProgress? {
        let (seen, wasLast) = state.withLock { ($0.seen, $0.wasLast) }
        if wasLast || Task.isCancelled { return nil }
        if let seen {
            await run.state.wait(atMost: Self.pause, clock: run.clock) { $0.batchState.isFinished }
            await run.state.wait { $0.version != seen || $0.batchState.isFinished }
            if Task.isCancelled { return nil }
        }
        let now = run.stopwatch.elapsed
        let (sums, rate, version, elapsed) = run.state.read { state in
            (
                state.batchState.sums(at: now), state.uploads.values.reduce(0) { $0 + $1.rate }, state.version,
                state.duration ?? now
            )
        }
        return state.withLock { state in
            state.seen = version
            state.wasLast = sums.isFinished
            guard Upload.sumsRates else { return state.meter.progress(sums, at: elapsed) }
            return UploadBatchProgress(sums, bytesPerSecond: rate, overallRate: rate, elapsed: elapsed)
        }
    }
}
