import WaybillCore

/// A reader of a batch's results, for as long as it is held.
final class BatchReader<Item: Sendable>: Sendable {
    let run: BatchRun<Item>

    init(run: BatchRun<Item>) {
        self.run = run
        run.change { $0.readers += 1 }
    }

    deinit {
        run.change { $0.readers -= 1 }
    }
}

/// A listener to a batch's progress, for as long as it is held.
final class BatchListener<Item: Sendable>: Sendable {
    private struct State {
        var meter = BatchMeter()
        var seen: Int?
        var wasLast = false
    }

    /// Twenty snapshots a second.
    private static var pause: Duration { .milliseconds(50) }

    private let run: BatchRun<Item>
    private let state = Locked(State())

    init(run: BatchRun<Item>) {
        self.run = run
        let unwatched = run.change { state -> [Int: UploadTask] in
            state.listeners += 1
            return state.listeners == 1 ? state.tasks : [:]
        }
        for (index, task) in unwatched { run.watch(task, index) }
        run.measureAll()
    }

    deinit {
        run.change { $0.listeners -= 1 }
    }

    func next() async -> UploadBatchProgress? {
        let (seen, wasLast) = state.withLock { ($0.seen, $0.wasLast) }
        if wasLast || Task.isCancelled { return nil }
        if let seen {
            await run.books.wait(atMost: Self.pause, clock: run.clock) { $0.ledger.isFinished }
            await run.books.wait { $0.version != seen || $0.ledger.isFinished }
            if Task.isCancelled { return nil }
        }
        let elapsed = run.stopwatch.elapsed
        let (sums, version) = run.books.read { ($0.ledger.sums(at: elapsed), $0.version) }
        return state.withLock { state in
            state.seen = version
            state.wasLast = sums.isFinished
            return state.meter.progress(sums, at: elapsed)
        }
    }
}
