import WaybillCore
package import WaybillMultipart

/// Returns the expected lengths of the bodies of all items, by their position.
package typealias BatchMeasure = @Sendable () async -> [ExpectedLength?]

/// Runs a batch: one task takes items and starts their uploads, and one task per item waits for its end. The shared
/// state is behind a lock.
package final class BatchRun<Item: Sendable, Upload: BatchUpload>: Sendable {
    package typealias Output = BatchResult<Item, Upload.Value, Upload.Failure>
    package typealias MakeWork = @Sendable (Item) async throws -> BatchWork<Upload>

    struct Running: Sendable {
        let upload: Upload
        let expectedLength: @Sendable () async -> ExpectedLength?
        var rate = 0.0
    }

    struct State: Sendable {
        var batchState: BatchState
        /// Calls of the caller's closure that have not returned.
        var pendingWork: [Int: Task<BatchWork<Upload>, any Error>] = [:]
        var uploads: [Int: Running] = [:]
        var results: [Output] = []
        var failures: [BatchSummary<Upload.Failure>.Failure] = []
        var sourceError: (any Error)?
        var duration: Duration?
        var readers = 0
        var listeners = 0
        var isCancelled = false
        /// Increases with every change that a snapshot shows.
        var version = 0

        func isUnwanted(_ index: Int) -> Bool { isCancelled || batchState.isCancelled(index) }

        /// Prevents further uploads from starting.
        mutating func cancel(endsRemaining: Bool) {
            isCancelled = true
            if !endsRemaining { batchState.stop() }
            // A paused batch would not take the remaining items.
            batchState.setPaused(false)
        }
    }

    /// The maximum number of failures in the summary.
    private static var maxReportedFailures: Int { 100 }

    let state: Observed<State>
    let clock: any Clock<Duration>
    package let stopwatch: Stopwatch
    private let onFailure: UploadBatchOptions.FailurePolicy
    /// Whether a cancelled batch takes the remaining items and ends each as cancelled. Otherwise they stay in the
    /// source.
    private let endsRemaining: Bool
    /// Returns the lengths of all items. Called when the first listener is added.
    private let measure: BatchMeasure?
    private let measuring = Locked<Task<Void, Never>?>(nil)
    /// Called with each snapshot of each item, never after the end of the item.
    private let onSnapshot: (@Sendable (Int, Upload.Snapshot) -> Void)?
    /// Called once for each item.
    private let onEnd: (@Sendable (Output) -> Void)?
    /// Called once, after the last item.
    private let onFinish: (@Sendable () -> Void)?

    /// - Parameters:
    ///   - options: The caller's options.
    ///   - window: The maximum number of running items, unless the options set it.
    ///   - count: The number of items, if known.
    ///   - clock: The clock of progress snapshots and durations.
    ///   - endsRemaining: Whether a cancelled batch takes the remaining items and ends each as cancelled.
    ///   - measure: Returns the lengths of all items.
    ///   - onSnapshot: Called with each snapshot of each item.
    ///   - onEnd: Called with the result of each item.
    ///   - onFinish: Called after the last item has ended.
    package init(
        options: UploadBatchOptions, window: Int, count: Int?, clock: any Clock<Duration> = ContinuousClock(),
        endsRemaining: Bool = false, measure: BatchMeasure? = nil,
        onSnapshot: (@Sendable (Int, Upload.Snapshot) -> Void)? = nil, onEnd: (@Sendable (Output) -> Void)? = nil,
        onFinish: (@Sendable () -> Void)? = nil
    ) {
        onFailure = options.onFailure
        self.clock = clock
        stopwatch = Stopwatch(clock)
        self.endsRemaining = endsRemaining
        self.measure = options.expectedSizes.isEmpty ? measure : nil
        (self.onSnapshot, self.onEnd, self.onFinish) = (onSnapshot, onEnd, onFinish)
        state = Observed(
            State(
                batchState: BatchState(
                    window: options.window ?? window, buffer: options.unreadResults, count: count, options: options)))
    }

    deinit { measuring.withLock { $0 }?.cancel() }

    /// Starts taking items from a sequence.
    package func start<Items: Sequence & SendableMetatype>(_ items: sending Items, _ makeWork: @escaping MakeWork)
    where Items.Element == Item, Items.Iterator: SendableMetatype {
        Task {
            var source = SynchronousSource(base: items.makeIterator())
            await takeItems(&source, makeWork)
        }
    }

    /// Takes items until the source ends or the batch stops.
    func takeItems<Source: AsyncIteratorProtocol>(
        _ source: inout Source, _ makeWork: @escaping MakeWork, isolation: isolated (any Actor)? = #isolation
    ) async where Source.Element == Item {
        while await mayTake() {
            let item: Item?
            do {
                item = try await source.next(isolation: isolation)
            } catch {
                return change { state in
                    state.sourceError = error
                    state.batchState.stop()
                }
            }
            guard let item else { return change { $0.batchState.exhaust() } }
            await begin(item, makeWork)
        }
    }

    private func mayTake() async -> Bool {
        await state.wait { $0.batchState.isStopped || $0.batchState.mayTake(hasReader: $0.readers > 0) }
        return state.read { !$0.batchState.isStopped }
    }

    private func begin(_ item: Item, _ makeWork: @escaping MakeWork) async {
        // The batch may have been cancelled while the source created the item.
        let (index, isUnwanted) = change { state in
            let (index, isCancelled) = state.batchState.take()
            return (index, isCancelled || state.isCancelled)
        }
        guard !isUnwanted else { return end(index, item, .failure(.cancelledBeforeStart)) }
        switch await work(for: item, index, makeWork) {
        case .failure(let error): end(index, item, .failure(error))
        case .success(let work):
            guard let upload = start(work, index) else { return end(index, item, .failure(.cancelledBeforeStart)) }
            Task { [self] in
                // The callback is not called after the end.
                if onSnapshot != nil { await observe(index) }
                end(index, item, await upload.finished())
            }
        }
    }

    /// Calls the caller's closure. Cancelling the item or the batch cancels the call.
    private func work(
        for item: Item, _ index: Int, _ makeWork: @escaping MakeWork
    ) async -> Result<BatchWork<Upload>, Upload.Failure> {
        let pendingWork = Task { try await makeWork(item) }
        let isUnwanted = change { state in
            state.pendingWork[index] = pendingWork
            return state.isUnwanted(index)
        }
        if isUnwanted { pendingWork.cancel() }
        let result = await pendingWork.result
        let wasCancelled = change { state in
            state.pendingWork[index] = nil
            return state.isUnwanted(index)
        }
        guard !wasCancelled else { return .failure(.cancelledBeforeStart) }
        return result.mapError { Upload.Failure(ofItem: $0) }
    }

    /// Starts and registers an upload; returns `nil` if the item was cancelled before.
    private func start(_ work: BatchWork<Upload>, _ index: Int) -> Upload? {
        // If possible, start and register in one step: a concurrent cancel either finds the upload or prevents its
        // start.
        let early = Upload.startsWithoutCallbacks ? nil : work.start()
        let entered = change { state -> (upload: Upload, isUnwanted: Bool, isPaused: Bool, hasListener: Bool)? in
            let isUnwanted = state.isUnwanted(index)
            if early == nil, isUnwanted { return nil }
            let upload = early ?? work.start()
            state.uploads[index] = Running(upload: upload, expectedLength: work.expectedLength)
            return (upload, isUnwanted, state.batchState.isPaused, state.listeners > 0)
        }
        guard let (upload, isUnwanted, isPaused, hasListener) = entered else { return nil }
        if isUnwanted { upload.cancel() }
        if isPaused { applyPause(true, upload) }
        if hasListener, onSnapshot == nil { Task { [self] in await observe(index) } }
        return upload
    }

    private func end(_ index: Int, _ item: Item, _ result: Result<Upload.Value, Upload.Failure>) {
        let output = BatchResult(index: index, item: item, result: result)
        // Called before the state changes, so that tasks that wait for the last end resume after the callback.
        onEnd?(output)
        let time = stopwatch.elapsed
        // Released where no lock is held: releasing a body of the caller may run arbitrary code.
        let (mustStop, ended) = change { state -> (Bool, Running?) in
            let ended = state.uploads.removeValue(forKey: index)
            let bytes = ended?.upload.bytes(of: result)
            let outcome: BatchState.Outcome
            let error: Upload.Failure?
            switch result {
            case .success: (outcome, error) = (.succeeded, nil)
            case .failure(let failure): (outcome, error) = (failure.isCancelled ? .cancelled : .failed, failure)
            }
            let (isFirstEnd, drop) = state.batchState.end(
                index, outcome, acknowledged: bytes?.acknowledged ?? 0, total: bytes?.total,
                hasReader: state.readers > 0,
                at: time)
            guard isFirstEnd else { return (false, ended) }
            state.results.append(output)
            state.results.removeFirst(drop)
            if outcome == .failed, let error, state.failures.count < Self.maxReportedFailures {
                state.failures.append(BatchSummary.Failure(index: index, error: error))
            }
            // In a closed session every further item would fail, possibly hundreds of thousands of times.
            let mustStop = error?.isSessionClosed == true || outcome == .failed && onFailure == .stop
            // In the same step in which the item ends: otherwise the next item could start in its place.
            if mustStop { state.cancel(endsRemaining: endsRemaining) }
            return (mustStop, ended)
        }
        withExtendedLifetime(ended) {}
        if mustStop { cancel() }
    }

    /// Changes the state, and records the duration with the last change.
    @discardableResult
    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let now = stopwatch.elapsed
        let (value, isLast) = state.update { state in
            let value = body(&state)
            state.version += 1
            let isLast = state.batchState.isFinished && state.duration == nil
            if isLast { state.duration = now }
            return (value, isLast)
        }
        if isLast { onFinish?() }
        return value
    }
}

// MARK: - Control

extension BatchRun {
    package var executing: [Int: Upload] { state.read { $0.uploads.mapValues(\.upload) } }
    package var isPaused: Bool { state.read { $0.batchState.isPaused } }
    package var acknowledged: Int64 { state.read { $0.batchState.sums(at: .zero).acknowledged } }

    package func cancel() {
        let (uploads, pendingWork) = change { state in
            state.cancel(endsRemaining: endsRemaining)
            // Cancel the last uploads first: a released slot must not start an upload that is cancelled next.
            let uploads = state.uploads.sorted { $0.key > $1.key }.map(\.value.upload)
            return (uploads, Array(state.pendingWork.values))
        }
        for task in pendingWork { task.cancel() }
        for upload in uploads { upload.prepareToCancel() }
        for upload in uploads { upload.cancel() }
    }

    package func cancel(at index: Int) {
        let (upload, pendingWork) = change { state in
            state.batchState.cancel(index) ? (state.uploads[index]?.upload, state.pendingWork[index]) : (nil, nil)
        }
        pendingWork?.cancel()
        upload?.cancel()
    }

    package func setPaused(_ isPaused: Bool) {
        let uploads = change { state -> [Upload] in
            guard !state.isCancelled else { return [] }
            state.batchState.setPaused(isPaused)
            return state.uploads.values.map(\.upload)
        }
        for upload in uploads { applyPause(isPaused, upload) }
    }

    /// Pauses or resumes an upload to match the batch, then checks again, because another thread may have changed the
    /// batch meanwhile.
    private func applyPause(_ isPaused: Bool, _ upload: Upload) {
        var wanted = isPaused
        while true {
            if wanted { upload.pause() } else { upload.resume() }
            // Cancelling pauses the uploads that it cancels; do not resume them.
            let now = state.read { $0.isCancelled ? wanted : $0.batchState.isPaused }
            if now == wanted { return }
            wanted = now
        }
    }
}

// MARK: - Results and progress

extension BatchRun {
    /// Waits for the end of the last item, even if the task is cancelled.
    package func finished() async -> BatchSummary<Upload.Failure> {
        await state.wait(ignoresCancellation: true) { $0.batchState.isFinished }
        return state.read { state in
            let batchState = state.batchState
            return BatchSummary(
                taken: batchState.taken, succeeded: batchState.counts[.succeeded] ?? 0,
                failed: batchState.counts[.failed] ?? 0,
                cancelled: batchState.counts[.cancelled] ?? 0, acknowledged: batchState.sums(at: .zero).acknowledged,
                duration: state.duration ?? .zero, failures: state.failures, isComplete: batchState.isExhausted,
                sourceError: state.sourceError)
        }
    }

    /// Waits for the end of the last item. Cancelling the waiting task cancels the batch.
    package var summary: BatchSummary<Upload.Failure> {
        get async {
            await withTaskCancellationHandler {
                await finished()
            } onCancel: {
                cancel()
            }
        }
    }

    func nextResult() async -> Output? {
        while true {
            await state.wait { !$0.results.isEmpty || $0.batchState.isFinished }
            let (result, isOver) = state.update { state -> (Output?, Bool) in
                guard !state.results.isEmpty else { return (nil, state.batchState.isFinished) }
                state.batchState.read()
                return (state.results.removeFirst(), false)
            }
            if result != nil || isOver || Task.isCancelled { return result }
        }
    }

    /// Adds a listener. The bytes of uploads are counted only while there is a listener.
    func addListener() {
        let unobserved = change { state -> [Int] in
            state.listeners += 1
            return state.listeners == 1 && onSnapshot == nil ? Array(state.uploads.keys) : []
        }
        for index in unobserved { Task { [self] in await observe(index) } }
        guard let measure else { return }
        // Measure once and concurrently with the uploads: a slow disk must not delay them.
        measuring.withLock { task in
            guard task == nil else { return }
            task = Task { [weak self] in
                let lengths = await measure()
                self?.change { $0.batchState.expect(lengths) }
            }
        }
    }

    /// Counts the bytes of an upload until it ends or there is no listener.
    private func observe(_ index: Int) async {
        guard let running = state.read({ $0.uploads[index] }) else { return }
        if let expected = await running.expectedLength() {
            change { $0.batchState.expect(index, expected.bytes, isExact: expected.isExact) }
        }
        await running.upload.follow { snapshot in
            let time = stopwatch.elapsed
            let hasListener = change { state in
                state.batchState.progress(
                    index, acknowledged: snapshot.acknowledged, total: snapshot.total,
                    isTransferring: snapshot.isTransferring,
                    at: time)
                state.uploads[index]?.rate = snapshot.bytesPerSecond
                return state.listeners > 0
            }
            onSnapshot?(index, snapshot)
            return hasListener || onSnapshot != nil
        }
    }
}

/// An adapter that reads a sequence as an asynchronous one.
private struct SynchronousSource<Base: IteratorProtocol>: AsyncIteratorProtocol {
    var base: Base

    mutating func next() async -> Base.Element? { base.next() }
}
