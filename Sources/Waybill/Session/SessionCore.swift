import HTTPTypes
import Logging
import WaybillCore
import WaybillCurl

/// The state that the uploads of a session share: the queue, the transport, the limits, and the uploads that have not
/// ended.
///
/// It lives as long as the session or one of its uploads, so that releasing the session ends no upload.
///
/// Lock order: the lock of a run may be taken while this lock is held, but not the reverse.
final class SessionCore: Sendable {
    struct State {
        var queue: AdmissionQueue
        var retries: RetryBuckets
        var runs: [UploadID: UploadRun] = [:]
        /// The transfers that another upload with the same key can join.
        var runsByKey: [String: UploadRun] = [:]
        var groups: [String: GroupSettings] = [:]
        /// Whether uploads start paused, unless their group has a setting.
        var isPaused = false
        /// The sequence number of pause requests; stale requests are ignored.
        var pauseSequence = 0
        var started = 0
        var isClosed = false
        var transport: (any UploadTransport)?
        var calls = AdmissionQueue.Calls()
        var isCalling = false
    }

    let configuration: UploadSession.Configuration
    let events = EventHub()
    private let isShared: Bool
    let state: Locked<State>
    let rates: Locked<RateLimiter>

    init(configuration: UploadSession.Configuration, transport: (any UploadTransport)?, isShared: Bool = false) {
        self.configuration = configuration
        self.isShared = isShared
        let queue = AdmissionQueue(
            slots: configuration.maximumConcurrentTransfers,
            slotsPerHost: configuration.maximumConcurrentTransfersPerHost, reach: configuration.priorityReach)
        state = Locked(State(queue: queue, retries: RetryBuckets(configuration.retryBudget), transport: transport))
        rates = Locked(RateLimiter(limit: configuration.rateLimit))
    }

    deinit { events.close() }

    /// The transport. That of libcurl is created for the first upload.
    var transport: any UploadTransport {
        state.withLock { state in
            if let transport = state.transport { return transport }
            var setup = CurlTransport.Configuration()
            setup.maximumIdleConnections = max(setup.maximumIdleConnections, configuration.maximumConcurrentTransfers)
            let transport = CurlTransport(configuration: setup, logger: configuration.logger)
            state.transport = transport
            return transport
        }
    }

    /// Starts an upload. If the caller's task was already cancelled, nothing is opened.
    func start(_ request: UploadRequest, isCancelled: Bool = false) -> UploadTask {
        let plan = Result { () throws(UploadError) in try RequestPlan(request, configuration) }
        let (id, number) = newID()
        let run = UploadRun(request, try? plan.get(), id: id, number: number, core: self)
        if case .success = plan, !isCancelled {
            switch register(run) {
            case .new(let handle):
                run.applyHandleSettings()
                run.send(.started)
                run.hasStarted()
                return UploadTask(run: run, handle: handle)
            case .joined(let other, let handle):
                other.applyHandleSettings()
                return UploadTask(run: other, handle: handle)
            case .closed:
                run.send(
                    .refused(
                        UploadError(
                            .sessionClosed, "The session is closed. Start the upload in another session.",
                            phase: .waiting))
                )
            }
        } else if case .failure(let error) = plan {
            run.send(.refused(error))
        } else {
            run.send(.cancel)
        }
        return UploadTask(run: run, handle: 0)
    }

    private enum Registration {
        case new(handle: Int)
        case joined(UploadRun, handle: Int)
        case closed
    }

    /// Registers the upload, or adds its handle to the upload with the same key.
    private func register(_ run: UploadRun) -> Registration {
        let options = run.plan?.options
        let priority = options?.priority ?? .normal
        return state.withLock { state in
            guard !state.isClosed else { return .closed }
            let isPaused = options?.group.flatMap { state.groups[$0]?.isPaused } ?? state.isPaused
            if let key = options?.deduplicationKey {
                if let other = state.runsByKey[key],
                    let handle = other.join(priority: priority, isPaused: isPaused, sequence: state.pauseSequence)
                {
                    return .joined(other, handle: handle)
                }
                state.runsByKey[key] = run
            }
            state.runs[run.id] = run
            return .new(handle: run.join(priority: priority, isPaused: isPaused, sequence: state.pauseSequence) ?? 0)
        }
    }

    /// Returns an ID that no running upload has. Random IDs do not collide in practice; this guarantees it.
    private func newID() -> (UploadID, number: Int) {
        state.withLock { state in
            state.started += 1
            var id = UploadID()
            while state.runs[id] != nil { id = UploadID() }
            return (id, state.started)
        }
    }

    /// Removes an upload that has ended.
    func remove(_ run: UploadRun) {
        let key = run.plan?.options.deduplicationKey
        state.withLock { state in
            state.runs[run.id] = nil
            if let key, state.runsByKey[key] === run { state.runsByKey[key] = nil }
        }
    }

    func close(_ mode: UploadSession.CloseMode) async {
        let (open, sequence) = state.withLock { state in
            if !isShared { state.isClosed = true }
            // A drain must not wait for paused uploads.
            if mode == .drain { state.resumeAll() }
            state.pauseSequence += 1
            return (state.activeRuns, state.pauseSequence)
        }
        switch mode {
        case .drain: updateAll { for run in open { run.setPaused(nil, false, sequence: sequence) } }
        case .cancel: updateAll { for run in open { run.cancelForClosing() } }
        }
        await withTaskCancellationHandler {
            for run in open { _ = await run.result(for: nil) }
        } onCancel: {
            updateAll { for run in open { run.cancelForClosing() } }
        }
        state.withLock { $0.transport }?.closeIdleConnections()
        if !isShared { events.close() }
    }
}

extension SessionCore.State {
    /// The uploads that have not ended, in the order they were started.
    var activeRuns: [UploadRun] { runs.values.sorted { $0.number < $1.number } }

    /// Resets all pause settings, so that uploads start unpaused.
    mutating func resumeAll() {
        isPaused = false
        for group in groups.keys { set(group) { $0.isPaused = nil } }
    }
}

// MARK: - Retry budget

extension SessionCore {
    func spendRetry(host: String) -> Bool { state.withLock { $0.retries.spend(host) } }
    func earnRetry(host: String) { state.withLock { $0.retries.earn(host) } }
}
