import Waybill
import WaybillCore

/// A batch at work. The books are those of ``UploadBatch``; what runs are uploads of objects.
final class QiniuBatchRun<Item: Sendable>: Sendable {
    struct State: Sendable {
        var ledger: BatchLedger
        var uploads: [Int: ObjectUpload<QiniuObject>] = [:]
        /// What is asked of the caller for an item whose turn it is.
        var asking: [Int: Task<QiniuBatchWork, any Error>] = [:]
        var rates: [Int: Double] = [:]
        var results: [QiniuBatchResult<Item>] = []
        var failures: [QiniuBatchSummary.Failure] = []
        var readers = 0
        var listeners = 0
        /// Whether what is taken is ended at once.
        var isCancelled = false
        var duration: Duration?
        /// Goes up with every change that a snapshot shows.
        var version = 0
    }

    let atOnce: Int
    let options: UploadBatchOptions
    let books: Observed<State>
    let start = ContinuousClock.now
    private let client: QiniuClient
    private let group: String
    private let onProgress: (@Sendable (Int, ObjectProgress) -> Void)?
    private let onEnd: (@Sendable (QiniuBatchResult<Item>) -> Void)?

    init(
        client: QiniuClient, atOnce: Int, count: Int, options: UploadBatchOptions,
        onProgress: (@Sendable (Int, ObjectProgress) -> Void)?, onEnd: (@Sendable (QiniuBatchResult<Item>) -> Void)?
    ) {
        self.client = client
        self.atOnce = max(1, atOnce)
        self.options = options
        self.onProgress = onProgress
        self.onEnd = onEnd
        group = "qiniu batch \(UInt64.random(in: .min ... .max))"
        // Two more than may send, so that the next photo is made small while the last is on its way.
        let window = options.window ?? self.atOnce + 2
        let ledger = BatchLedger(window: window, buffer: options.unreadResults, count: count, options: options)
        books = Observed(State(ledger: ledger))
        client.session.group(group).slots = self.atOnce
    }

    /// Takes an item when there is room for it.
    func take(_ item: Item, _ work: @escaping @Sendable (Item) async throws -> QiniuBatchWork) async {
        await books.wait { $0.ledger.mayTake(isRead: $0.readers > 0) }
        let (index, isUnwanted) = change { state in
            let (index, isCancelled) = state.ledger.take()
            return (index, isCancelled || state.isCancelled)
        }
        guard !isUnwanted else { return end(index, item, .failure(Self.cancelled)) }
        var wanted: QiniuBatchWork
        let asking = Task { try await work(item) }
        let isUnwantedMeanwhile = change { state in
            state.asking[index] = asking
            return state.isCancelled || state.ledger.isCancelled(index)
        }
        if isUnwantedMeanwhile { asking.cancel() }
        do {
            wanted = try await asking.value
            _ = change { $0.asking.removeValue(forKey: index) }
        } catch {
            let isCancelled = change { state in
                state.asking[index] = nil
                return state.isCancelled || state.ledger.isCancelled(index)
            }
            return end(index, item, .failure(isCancelled ? Self.cancelled : Self.failure(error)))
        }
        // The requests of the batch are bounded together; an item's own group can't be had beside that.
        wanted.options.group = group
        // Started and entered in one step: whoever cancels finds it, or it does not begin.
        let started = change { [wanted] state -> (ObjectUpload<QiniuObject>, isPaused: Bool, isHeard: Bool)? in
            guard !state.isCancelled, !state.ledger.isCancelled(index) else { return nil }
            let upload = client.startUpload(wanted.source, to: wanted.key, options: wanted.options)
            state.uploads[index] = upload
            return (upload, state.ledger.isPaused, state.listeners > 0)
        }
        guard let (upload, isPaused, isHeard) = started else { return end(index, item, .failure(Self.cancelled)) }
        if isPaused { upload.pause() }
        // Somebody may have let all go on between the look and the pause.
        if isPaused, !books.read({ $0.ledger.isPaused }) { upload.resume() }
        Task { [self] in
            if let expected = await wanted.source.expectedLength() {
                change { $0.ledger.expect(index, expected.bytes, isExact: expected.isExact) }
            }
            // Its end comes after its last snapshot.
            if let onProgress {
                await follow(upload, index) { onProgress(index, $0) }
            } else if isHeard {
                await follow(upload, index)
            }
            do throws(StoreError) {
                end(index, item, .success(try await upload.value))
            } catch {
                end(index, item, .failure(error))
            }
        }
    }

    /// There is no further item.
    func exhaust() {
        change { $0.ledger.exhaust() }
    }

    /// Counts the bytes of an upload on its way.
    private func follow(
        _ upload: ObjectUpload<QiniuObject>, _ index: Int, _ also: (ObjectProgress) -> Void = { _ in }
    ) async {
        for await progress in upload.progress {
            let time = ContinuousClock.now - start
            change { state in
                state.ledger.progress(
                    index, acknowledged: progress.acknowledged, total: progress.total,
                    isMoving: [.sending, .completing].contains(progress.phase) && !progress.isPaused, at: time)
                if state.uploads[index] != nil { state.rates[index] = progress.bytesPerSecond }
            }
            also(progress)
        }
    }

    /// Somebody reads or listens from now on.
    func join(_ role: Presence<Item>.Role) {
        let unwatched = change { state -> [Int: ObjectUpload<QiniuObject>] in
            guard role == .listener else {
                state.readers += 1
                return [:]
            }
            state.listeners += 1
            return state.listeners == 1 && onProgress == nil ? state.uploads : [:]
        }
        for (index, upload) in unwatched { Task { [self] in await follow(upload, index) } }
    }

    /// Somebody no longer does.
    func leave(_ role: Presence<Item>.Role) {
        change { state in
            switch role {
            case .reader: state.readers -= 1
            case .listener: state.listeners -= 1
            }
        }
    }

    private func end(_ index: Int, _ item: Item, _ result: Result<QiniuObject, StoreError>) {
        let ending: BatchLedger.Ending =
            switch result {
            case .success: .succeeded
            case .failure(let error): error.isCancelled ? .cancelled : .failed
            }
        let outcome = QiniuBatchResult(index: index, item: item, result: result)
        // Before the books close: whoever waits for the last end has heard of it then.
        onEnd?(outcome)
        let mustStop = change { state -> Bool in
            let upload = state.uploads.removeValue(forKey: index)?.currentProgress
            state.rates[index] = nil
            let arrived = upload?.acknowledged ?? 0
            let (isNews, drop) = state.ledger.end(
                index, ending, acknowledged: arrived, total: upload?.total, isRead: state.readers > 0)
            precondition(isNews, "an item ends once")
            state.results.append(outcome)
            state.results.removeFirst(drop)
            if case .failure(let error) = result, ending == .failed, state.failures.count < 100 {
                state.failures.append(QiniuBatchSummary.Failure(index: index, error: error))
            }
            return ending == .failed && options.onFailure == .stop
        }
        if mustStop { cancel() }
    }

    func cancel(at index: Int) {
        let (upload, asking) = change { state in
            state.ledger.cancel(index) ? (state.uploads[index], state.asking[index]) : (nil, nil)
        }
        asking?.cancel()
        upload?.cancel()
    }

    func cancel() {
        let (uploads, asking) = change { state in
            state.isCancelled = true
            // Who stands still would not come to its end.
            state.ledger.setPaused(false)
            return (Array(state.uploads.values), Array(state.asking.values))
        }
        for task in asking { task.cancel() }
        // A slot that is given back must not let one go that is cancelled next.
        for upload in uploads { upload.pause() }
        for upload in uploads { upload.cancel() }
    }

    func setPaused(_ isPaused: Bool) {
        let uploads = change { state in
            guard !state.isCancelled else { return [ObjectUpload<QiniuObject>]() }
            state.ledger.setPaused(isPaused)
            return Array(state.uploads.values)
        }
        for upload in uploads { if isPaused { upload.pause() } else { upload.resume() } }
    }

    func finished() async -> QiniuBatchSummary {
        await books.wait(isDeaf: true) { $0.ledger.isFinished }
        return books.read { state in
            let counts = state.ledger.counts
            return QiniuBatchSummary(
                succeeded: counts[.succeeded] ?? 0, failed: counts[.failed] ?? 0, cancelled: counts[.cancelled] ?? 0,
                acknowledged: state.ledger.sums(at: .zero).acknowledged, duration: state.duration ?? .zero,
                failures: state.failures)
        }
    }

    func nextResult() async -> QiniuBatchResult<Item>? {
        while true {
            await books.wait { !$0.results.isEmpty || $0.ledger.isFinished }
            let (result, isOver) = change { state -> (QiniuBatchResult<Item>?, Bool) in
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
        let elapsed = ContinuousClock.now - start
        let (value, isLast) = books.update { state in
            let value = body(&state)
            state.version += 1
            let isLast = state.ledger.isFinished && state.duration == nil
            if isLast { state.duration = elapsed }
            return (value, isLast)
        }
        if isLast { client.session.group(group).slots = nil }
        return value
    }

    private static var cancelled: StoreError {
        StoreError(.cancelled, "the item was cancelled before its turn", outcome: .notSent)
    }

    private static func failure(_ error: any Error) -> StoreError {
        if let error = error as? StoreError { return error }
        if error is CancellationError { return cancelled }
        return StoreError(.invalidArgument, "what is to be uploaded could not be told: see the cause", cause: error)
    }
}
