import WaybillCore
package import WaybillMultipart

/// Returns the expected lengths of the bodies of all items, by their place.
package typealias BatchMeasure = @Sendable () async -> [ExpectedLength?]

/// A batch at work: a task that takes items and starts them, a task an item that waits for its end, and the books between
/// them.
final class BatchRun<Item: Sendable>: Sendable {
    struct State: Sendable {
        var ledger: BatchLedger
        var tasks: [Int: UploadTask] = [:]
        var results: [UploadBatchResult<Item>] = []
        var failures: [UploadBatchSummary.Failure] = []
        var sourceError: (any Error)?
        var duration: Duration?
        var readers = 0
        var listeners = 0
        /// Goes up with every change that a snapshot shows.
        var version = 0
    }

    /// How many failures the summary names.
    private static var namedFailures: Int { 100 }

    let options: UploadBatchOptions
    let books: Observed<State>
    let clock: any Clock<Duration>
    let stopwatch: Stopwatch
    private let core: SessionCore
    /// Returns the lengths of all items; called with the first listener.
    private let measure: BatchMeasure?
    private let measuring = Locked<Task<Void, Never>?>(nil)

    init(core: SessionCore, options: UploadBatchOptions, count: Int?, measure: BatchMeasure? = nil) {
        self.core = core
        self.measure = options.expectedSizes.isEmpty ? measure : nil
        self.options = options
        clock = core.configuration.clock
        stopwatch = Stopwatch(core.configuration.clock)
        // What the session's queue holds at most between its two calls, and what runs.
        let busy = 2 * min(max(1, core.configuration.slots), AdmissionQueue.mostSlots) + 2
        let ledger = BatchLedger(
            window: options.window ?? busy, buffer: options.unreadResults, count: count, options: options)
        books = Observed(State(ledger: ledger))
    }

    deinit { measuring.withLock { $0 }?.cancel() }

    /// Takes items until there are no more, or no more are wanted.
    func drive<Source: AsyncIteratorProtocol>(
        _ source: inout Source, _ request: @Sendable (Item) async throws -> UploadRequest,
        isolation: isolated (any Actor)? = #isolation
    ) async where Source.Element == Item {
        while await mayTake() {
            let item: Item?
            do {
                item = try await source.next(isolation: isolation)
            } catch {
                stop(because: error)
                return
            }
            guard let item else { return change { $0.ledger.exhaust() } }
            await begin(item, request)
        }
    }

    private func mayTake() async -> Bool {
        await books.wait { $0.ledger.isStopped || $0.ledger.mayTake(isRead: $0.readers > 0) }
        return books.read { !$0.ledger.isStopped }
    }

    private func begin(_ item: Item, _ request: @Sendable (Item) async throws -> UploadRequest) async {
        // The source may have taken its time, and the batch may have been stopped meanwhile.
        let (index, isUnwanted) = change { state in
            let (index, isCancelled) = state.ledger.take()
            return (index, isCancelled || state.ledger.isStopped)
        }
        guard !isUnwanted else { return end(index, item, .failure(Self.cancelled)) }
        let wanted: UploadRequest
        do {
            wanted = try await request(item)
        } catch {
            return end(index, item, .failure(Self.failure(error)))
        }
        let task = core.start(wanted)
        let (isUnwantedNow, isPaused, isWatched) = change { state in
            state.tasks[index] = task
            let isUnwanted = state.ledger.isStopped || state.ledger.isCancelled(index)
            return (isUnwanted, state.ledger.isPaused, state.listeners > 0)
        }
        if isUnwantedNow { task.cancel() }
        if isPaused { follow(true, task) }
        if isWatched { watch(task, index) }
        Task { [self] in
            do throws(UploadError) {
                end(index, item, .success(try await task.response))
            } catch {
                end(index, item, .failure(error))
            }
        }
    }

    /// An item has ended.
    private func end(_ index: Int, _ item: Item, _ result: Result<UploadResponse, UploadError>) {
        let time = stopwatch.elapsed
        let mustStop = change { state -> Bool in
            state.tasks[index] = nil
            let (ending, arrived, length) = Self.entry(of: result)
            let (isNews, drop) = state.ledger.end(
                index, ending, acknowledged: arrived, total: length, isRead: state.readers > 0, at: time)
            guard isNews else { return false }
            state.results.append(UploadBatchResult(index: index, item: item, result: result))
            state.results.removeFirst(drop)
            if case .failure(let error) = result, ending == .failed, state.failures.count < Self.namedFailures {
                state.failures.append(UploadBatchSummary.Failure(index: index, error: error))
            }
            // In a closed session every further item would only fail, a hundred thousand times.
            if case .failure(let error) = result, error.code == .sessionClosed { return true }
            return ending == .failed && options.onFailure == .stop
        }
        if mustStop { cancel() }
    }

    private func stop(because error: any Error) {
        change { state in
            state.sourceError = error
            state.ledger.stop()
        }
    }

    /// What an end means for the books: of its kind, bytes that arrived, length of the body.
    private static func entry(
        of result: Result<UploadResponse, UploadError>
    ) -> (BatchLedger.Ending, arrived: Int64, length: Int64?) {
        switch result {
        case .success(let response):
            let sent = response.attempts.map(\.sent).max() ?? 0
            return (.succeeded, sent, sent)
        case .failure(let error):
            let arrived = error.attempts.map(\.acknowledged).max() ?? error.acknowledged
            return (error.isCancelled ? .cancelled : .failed, arrived, nil)
        }
    }

    private static var cancelled: UploadError {
        UploadError(.cancelled, "the item was cancelled before its turn", phase: .cancelled)
    }

    private static func failure(_ error: any Error) -> UploadError {
        if let error = error as? UploadError { return error }
        return UploadError(
            .preparationFailed, "no request could be made of the item: the cause says what the closure met",
            phase: .preparing, cause: error)
    }
}

// MARK: - From outside

extension BatchRun {
    var executing: [Int: UploadTask] { books.read(\.tasks) }

    func cancel() {
        let tasks = change { state in
            state.ledger.stop()
            // Those that came last first: a slot that is given back must not let one go that is cancelled next.
            return state.tasks.sorted { $0.key > $1.key }.map(\.value)
        }
        for task in tasks { task.cancel() }
    }

    func setPaused(_ isPaused: Bool) {
        let tasks = change { state in
            state.ledger.setPaused(isPaused)
            return Array(state.tasks.values)
        }
        for task in tasks { follow(isPaused, task) }
    }

    /// Does what the batch was told, and looks again: another word may have come meanwhile, from another thread.
    private func follow(_ isPaused: Bool, _ task: UploadTask) {
        var wanted = isPaused
        while true {
            if wanted { task.pause() } else { task.resume() }
            let now = books.read { $0.ledger.isPaused }
            if now == wanted { return }
            wanted = now
        }
    }

    func cancel(at index: Int) {
        let task = change { state in state.ledger.cancel(index) ? state.tasks[index] : nil }
        task?.cancel()
    }

    func finished() async -> UploadBatchSummary {
        await books.wait { $0.ledger.isFinished }
        return books.read { state in
            let ledger = state.ledger
            return UploadBatchSummary(
                taken: ledger.taken, succeeded: ledger.counts[.succeeded] ?? 0, failed: ledger.counts[.failed] ?? 0,
                cancelled: ledger.counts[.cancelled] ?? 0, acknowledged: ledger.sums(at: .zero).acknowledged,
                duration: state.duration ?? .zero, failures: state.failures, isComplete: ledger.isExhausted,
                sourceError: state.sourceError)
        }
    }

    func nextResult() async -> UploadBatchResult<Item>? {
        while true {
            await books.wait { !$0.results.isEmpty || $0.ledger.isFinished }
            let (result, isOver) = books.update { state -> (UploadBatchResult<Item>?, Bool) in
                guard !state.results.isEmpty else { return (nil, state.ledger.isFinished) }
                state.ledger.read()
                return (state.results.removeFirst(), false)
            }
            if result != nil || isOver || Task.isCancelled { return result }
        }
    }

    /// Changes the books, and stops the watch with the last change.
    @discardableResult
    func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let now = stopwatch.elapsed
        return books.update { state in
            defer {
                state.version += 1
                if state.ledger.isFinished, state.duration == nil { state.duration = now }
            }
            return body(&state)
        }
    }

    /// Looks at the sizes of all items, once, beside the uploads: a slow disk must not delay them.
    func measureAll() {
        guard let measure else { return }
        measuring.withLock { task in
            guard task == nil else { return }
            task = Task { [weak self] in
                let lengths = await measure()
                self?.change { $0.ledger.expect(lengths) }
            }
        }
    }

    /// Counts the bytes of an upload on its way.
    func watch(_ task: UploadTask, _ index: Int) {
        Task { [self] in
            if let expected = await task.run.request.content.expectedLength() {
                change { $0.ledger.expect(index, expected.bytes, isExact: expected.isExact) }
            }
            for await progress in task.progress {
                let time = stopwatch.elapsed
                change { state in
                    state.ledger.progress(
                        index, acknowledged: progress.acknowledged, total: progress.total,
                        isMoving: progress.phase.isOnWire && !progress.isPaused, at: time)
                }
                if books.read({ $0.listeners == 0 }) { return }
            }
        }
    }
}
