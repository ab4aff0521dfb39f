import HTTPTypes
import Logging
import WaybillCore
import WaybillCurl

/// The state that the uploads of a session share: the queue, the transport, the limits, and the uploads that have not
/// ended.
///
/// It lives as long as the session or one of its uploads, so that releasing the session ends no upload.
///
/// Lock order: the lock of a run may be taken while the lock of the state or of the queue is held, but not the reverse.
final class SessionCore: Sendable {
    fileprivate struct State {
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
    }

    let settings: SessionSettings
    let events = EventHub()
    /// What the session's resumable uploads have learned of servers.
    let resumeSupport = ResumeSupportCache()
    private let isShared: Bool
    private let state: Locked<State>
    private let queue: SessionQueue
    private let rates: SessionRates

    init(configuration: UploadSession.Configuration, transport: (any UploadTransport)?, isShared: Bool = false) {
        settings = SessionSettings(configuration)
        self.isShared = isShared
        state = Locked(State(retries: RetryBuckets(configuration.retryBudget), transport: transport))
        queue = SessionQueue(
            AdmissionQueue(
                slots: configuration.maximumConcurrentTransfers,
                slotsPerHost: configuration.maximumConcurrentTransfersPerHost, reach: configuration.priorityReach))
        rates = SessionRates(limit: configuration.rateLimit)
    }

    deinit { events.close() }

    var configuration: UploadSession.Configuration { settings.configuration }

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
        let plan = Result { () throws(UploadError) in try RequestPlan(request, settings) }
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

// MARK: - Control of one upload, of a group, or of all uploads

extension SessionCore {
    /// Pauses or resumes one handle.
    func setPaused(_ run: UploadRun, _ handle: Int, _ isPaused: Bool) {
        guard let sequence = nextSequenceNumber(isPaused) else { return }
        run.setPaused(handle, isPaused, sequence: sequence)
    }

    /// Pauses or resumes a group, or all uploads if it is `nil`, including uploads that are started later.
    func setPaused(group: String?, _ isPaused: Bool) {
        let (runs, sequence) = state.withLock { state -> ([UploadRun], Int) in
            guard !(state.isClosed && isPaused) else { return ([], 0) }
            state.pauseSequence += 1
            if let group {
                state.set(group) { $0.isPaused = isPaused }
            } else {
                state.resumeAll()
                state.isPaused = isPaused
            }
            return (state.members(of: group), state.pauseSequence)
        }
        updateAll { for run in runs { run.setPaused(nil, isPaused, sequence: sequence) } }
    }

    /// Returns whether uploads in a group, or outside of groups if it is `nil`, start paused.
    func isPaused(group: String?) -> Bool {
        state.withLock { state in group.flatMap { state.groups[$0]?.isPaused } ?? state.isPaused }
    }

    /// Returns the sequence number of a new request, or `nil` if it is ignored: a closed session can't pause, because
    /// it waits for its uploads.
    private func nextSequenceNumber(_ isPaused: Bool) -> Int? {
        state.withLock { state in
            guard !(state.isClosed && isPaused) else { return nil }
            state.pauseSequence += 1
            return state.pauseSequence
        }
    }

    /// Cancels the uploads of a group, or all uploads if it is `nil`.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads in the session.
    func cancel(group: String?) {
        let runs = members(of: group)
        updateAll { for run in runs { run.cancelAll() } }
    }

    /// Returns the uploads of a group that have not ended, or all uploads if it is `nil`, in the order they were
    /// started.
    func members(of group: String?) -> [UploadRun] { state.withLock { $0.members(of: group) } }

    func run(_ id: UploadID) -> UploadRun? { state.withLock { $0.runs[id] } }

    func setSlots(_ slots: Int?, ofGroup group: String) {
        state.withLock { state in state.set(group) { $0.slots = slots } }
        updateQueue { $0.limit(group: group, to: slots) }
    }

    func settings(of group: String) -> GroupSettings { state.withLock { $0.groups[group] ?? GroupSettings() } }
}

// MARK: - Queue

extension SessionCore {
    func join(_ run: UploadRun, isHeld: Bool) {
        let (host, group) = (run.host, run.plan?.options.group)
        updateQueue { $0.join(run.id, host: host, group: group, priority: run.priority, isHeld: isHeld) }
    }
    func ready(_ id: UploadID) { updateQueue { $0.ready(id) } }
    func requeue(_ run: UploadRun, isHeld: Bool) {
        let (host, group) = (run.host, run.plan?.options.group)
        updateQueue { $0.requeue(run.id, host: host, group: group, priority: run.priority, isHeld: isHeld) }
    }
    /// The priority is read under the lock, so that the last of two concurrent changes applies.
    func prioritize(_ run: UploadRun) { updateQueue { $0.prioritize(run.id, run.priority) } }
    func hold(_ id: UploadID) { updateQueue { $0.hold(id) } }
    func release(_ id: UploadID) { updateQueue { $0.release(id) } }
    func requeueHeld(_ id: UploadID) { updateQueue { $0.requeueHeld(id) } }
    func leave(_ id: UploadID) { updateQueue { $0.leave(id) } }

    /// Changes many uploads together. The queue makes no calls meanwhile, so that no upload starts that is about to be
    /// changed, and the cost is proportional to the number of changes.
    private func updateAll(_ change: () -> Void) {
        updateQueue { queue in
            queue.suspendCalls()
            return AdmissionQueue.Calls()
        }
        change()
        updateQueue { $0.resumeCalls() }
    }

    private func updateQueue(_ change: @Sendable (inout AdmissionQueue) -> AdmissionQueue.Calls) {
        queue.update(change) { calls in
            // An upload that has ended meanwhile has also left the queue and released its slot.
            let (prepare, start) = state.withLock { state in
                (calls.prepare.compactMap { state.runs[$0] }, calls.start.compactMap { state.runs[$0] })
            }
            for run in start { run.send(.admitted(elapsed: run.elapsed)) }
            for run in prepare { run.send(.mayPrepare) }
        }
    }
}

// MARK: - Rates

extension SessionCore {
    /// Assigns a share to a transfer that begins to send, and reduces those of the others.
    ///
    /// - Returns: The share.
    func beginSending(_ run: UploadRun) -> ByteCount? {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        return updateRates { shares in
            shares.join(run.id, group: group, limit: limit)
            return shares.share(of: run.id)
        }
    }

    /// Assigns a share to a resumed transfer. The transfer receives it as an event, before events for later changes.
    func resumeSending(_ run: UploadRun) {
        let (group, limit) = (run.plan?.options.group, run.ownLimit)
        updateRates { $0.join(run.id, group: group, limit: limit, isResumed: true) }
    }

    /// Divides the share of a transfer that has stopped sending among the others.
    func endSending(_ id: UploadID) { updateRates { _ = $0.leave(id) } }

    /// Sets the limit of one upload.
    func limit(_ id: UploadID, to rate: ByteCount?) { updateRates { $0.limit(id, to: rate) } }

    /// Sets the limit of a group, or of all uploads together if the group is `nil`.
    func limit(group: String?, to rate: ByteCount?) {
        updateRates { shares in
            if let group { shares.limit(group: group, to: rate) } else { shares.limit(to: rate) }
        }
    }

    /// Returns the most recently set limit of a group.
    func rateLimit(ofGroup group: String) -> ByteCount? { rates.limit(ofGroup: group) }

    private func updateRates<Value: Sendable>(_ change: @Sendable (inout RateShares) -> Value) -> Value {
        rates.update(change) { id, rate in run(id)?.send(.rateChanged(rate)) }
    }
}

// MARK: - Retry budget

extension SessionCore {
    func spendRetry(host: String) -> Bool { state.withLock { $0.retries.spend(host) } }
    func earnRetry(host: String) { state.withLock { $0.retries.earn(host) } }
}

// MARK: - State

/// The settings of a group.
struct GroupSettings: Sendable, Equatable {
    /// Whether uploads of the group start paused; `nil` to use the setting of the session.
    var isPaused: Bool?
    var slots: Int?
}

extension SessionCore.State {
    /// The uploads that have not ended, in the order they were started.
    var activeRuns: [UploadRun] { runs.values.sorted { $0.number < $1.number } }

    /// Resets all pause settings, so that uploads start unpaused.
    mutating func resumeAll() {
        isPaused = false
        for group in groups.keys { set(group) { $0.isPaused = nil } }
    }

    /// Changes the settings of a group. Default settings are not stored.
    mutating func set(_ group: String, _ change: (inout GroupSettings) -> Void) {
        var settings = groups[group] ?? GroupSettings()
        change(&settings)
        groups[group] = settings == GroupSettings() ? nil : settings
    }

    func members(of group: String?) -> [UploadRun] {
        guard let group else { return activeRuns }
        return runs.values.filter { $0.plan?.options.group == group }.sorted { $0.number < $1.number }
    }
}
