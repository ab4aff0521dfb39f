import HTTPTypes
import Logging
import WaybillCore

/// Serializes the events of one upload into its state machine, and performs the actions of the machine.
///
/// Events are sent from any thread. The thread that finds the mailbox idle empties it: it passes each event to the
/// machine and performs the actions, in order and with no lock held. Events that are sent meanwhile, including those
/// sent by actions, are queued and never lost.
final class UploadRun: Sendable {
    private struct State {
        var mailbox: UploadMailbox
        var resources = Resources()
        var core: SessionCore?
        var result: Result<UploadResponse, UploadError>?
        var waiters: [Waiter] = []
        /// The priority and the pause state that each handle requests.
        var registry = HandleRegistry()
        /// Whether the thread that starts the upload is still starting it.
        var isStarting = true
        /// Whether the last event of the machine about pausing was a pause and not a resume.
        var isPaused = false
        var priority: UploadPriority
        /// The limit of this upload, without those of its group and session.
        var ownLimit: ByteCount?
        /// Whether all handles were cancelled, so that no other handle can join.
        var isAbandoned = false
        /// The tasks that call the progress closures of each handle.
        var callbackTasks: [Int: [Task<Void, Never>]] = [:]
        /// The errors of handles that were cancelled while others remained.
        var cancelledHandles: [Int: UploadError] = [:]
    }

    /// A task that waits for the result of a handle, or of the upload if it is `nil`.
    private struct Waiter {
        let handle: Int?
        let continuation: CheckedContinuation<Result<UploadResponse, UploadError>, Never>
    }

    /// Resources that are released at the end.
    struct Resources {
        var body: (any UploadBody)?
        var headers: HTTPFields = [:]
        var preparation: Task<Void, Never>?
        var control: (any TransferControl)?
        /// The timer of a retry, or the refresh of the credential.
        var nextAttemptTask: Task<Void, Never>?
        /// Releases the slot of a paused transfer.
        var slotTimer: Task<Void, Never>?
        /// Whether the transfer is paused. Its progress is then requested even without listeners, because it determines
        /// whether the slot can be released.
        var isTransferPaused = false
        /// The resumable upload; `nil` for any other.
        var resumable: ResumableUpload?
        /// Whether a resumable upload stays at the server although the upload is cancelled.
        var keepsRemoteUpload = false
        /// The hop to which redirects have led.
        var hop: UploadRoute.Hop?
        /// The credential that was fetched or sent last.
        var credential: Secret?
        /// The last attempt as passed to the transport.
        var sent: TransferRequest?
        /// Measures the time since the first attempt began.
        var stopwatch: Stopwatch?
        /// The reason for the failure of the last attempt, for the event of the retry.
        var failureReason = ""
    }

    let id: UploadID
    /// The number of the upload in the session, in the order of starts.
    let number: Int
    let request: UploadRequest
    /// The plan of the request; `nil` for a request that was rejected.
    let plan: RequestPlan?
    let clock: any Clock<Duration>
    let jitter: @Sendable () -> Double
    let log: UploadLog
    /// The hub to which events are sent.
    let events: EventHub
    let broadcast: ProgressBroadcast
    private let state: Locked<State>

    init(
        _ request: UploadRequest, _ plan: RequestPlan?, id: UploadID, number: Int, core: SessionCore
    ) {
        let settings = core.settings
        self.id = id
        self.number = number
        self.request = request
        self.plan = plan
        clock = settings.configuration.clock
        jitter = settings.configuration.jitter
        broadcast = ProgressBroadcast(clock: clock)
        events = core.events
        log = UploadLog(settings.configuration.logger, id: id, events: events, stopwatch: broadcast.stopwatch)
        var rules = plan?.rules ?? UploadRules()
        // Clamp to one year: Duration arithmetic would overflow.
        rules.pauseKeepsSlot = min(max(.zero, settings.configuration.pauseKeepsSlot), .seconds(365 * 86_400))
        let priority = plan?.options.priority ?? .normal
        let limit = plan?.options.transfer.rateLimit
        state = Locked(
            State(mailbox: UploadMailbox(rules), core: core, priority: priority, ownLimit: limit))
    }

    var snapshot: UploadSnapshot { broadcast.snapshot }
    var wantsProgress: Bool { broadcast.hasListeners || withResources { $0.isTransferPaused } }
    func currentProgress(for handle: Int) -> UploadProgress { broadcast.current(for: handle) }
    func listen(for handle: Int) -> BroadcastSequence<MeasuredSnapshot> { broadcast.listen(for: handle) }

    /// Waits for the result of a handle, or of the upload if it is `nil`.
    func result(for handle: Int?) async -> Result<UploadResponse, UploadError> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state -> Result<UploadResponse, UploadError>? in
                if let error = handle.flatMap({ state.cancelledHandles[$0] }) { return .failure(error) }
                if state.result == nil { state.waiters.append(Waiter(handle: handle, continuation: continuation)) }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}

// MARK: - Mailbox

extension UploadRun {
    func send(_ event: UploadStateMachine.Event) {
        let mustDrain = state.withLock { $0.mailbox.append(event) }
        if mustDrain { drainMailbox() }
    }

    /// Performs the actions of all events, including those that are sent meanwhile.
    private func drainMailbox() {
        while let (actions, core) = nextActions() {
            for action in actions { perform(action, core) }
        }
    }

    private func nextActions() -> (actions: [UploadStateMachine.Action], core: SessionCore?)? {
        state.withLock { state in state.mailbox.next().map { ($0, state.core) } }
    }

    private func perform(_ action: UploadStateMachine.Action, _ core: SessionCore?) {
        switch action {
        case .publish(let snapshot):
            log.snapshotChanged(from: broadcast.snapshot, to: snapshot)
            // An upload that waits for its response sends nothing, so its share is divided among the others.
            if snapshot.phase == .awaitingResponse { core?.endSending(id) }
            broadcast.publish(snapshot)
        case .prepare: prepare()
        case .stopPreparing: withResources { $0.preparation.take() }?.cancel()
        case .startTransfer(let attempt): startTransfer(attempt, core)
        case .cancelTransfer: setTransferPaused(false)?.cancel()
        case .pauseTransfer:
            setTransferPaused(true)?.pause()
            core?.endSending(id)
        case .resumeTransfer:
            core?.resumeSending(self)
            setTransferPaused(false)?.resume()
        case .limitTransfer(let rate): withResources { $0.control }?.limit(to: rate)
        case .scheduleSlotReturn(let delay, let pause):
            let timer = timer(after: delay, .slotReturnDue(pause: pause))
            withResources { $0.slotTimer = timer }
        case .unscheduleSlotReturn: withResources { $0.slotTimer.take() }?.cancel()
        case .restarted(let attempt): log.restarted(attempt)
        case .requestRetry(let attempt):
            send(.retryDecided(attempt: attempt, isGranted: core?.spendRetry(host: host) ?? false))
        case .refreshCredential(let attempt): refreshCredential(attempt)
        case .stopRefreshing: withResources { $0.nextAttemptTask.take() }?.cancel()
        case .redirect(let hop):
            withResources { $0.hop = hop }
            log.redirected(to: hop.url, attempt: broadcast.snapshot.attempt)
        case .scheduleRetry(let delay, let attempt): scheduleRetry(after: delay, attempt)
        case .unscheduleRetry: withResources { $0.nextAttemptTask.take() }?.cancel()
        case .join(let isHeld):
            log.queued()
            core?.join(self, isHeld: isHeld)
        case .awaitSlot: core?.ready(id)
        case .requeue(let isHeld): core?.requeue(self, isHeld: isHeld)
        case .hold: core?.hold(id)
        case .release: core?.release(id)
        case .requeueHeld: core?.requeueHeld(id)
        case .withdraw: core?.leave(id)
        case .releaseSlot:
            _ = setTransferPaused(false)
            core?.endSending(id)
            core?.leave(id)
        case .finish(let result):
            guard let core, let resumable = withResources({ $0.resumable }) else { return finish(result, core) }
            removeFromServer(resumable, after: result, core)
            // Before the caller receives the result: it may start the upload again.
            resumable.close { [self] in finish(result, core) }
        }
    }

    private func setTransferPaused(_ isTransferPaused: Bool) -> (any TransferControl)? {
        withResources { resources in
            resources.isTransferPaused = isTransferPaused
            return resources.control
        }
    }

    /// Whether the thread that starts the upload is still starting it. That thread prepares a short body itself, which
    /// saves two thread switches. Later calls, when a slot becomes free, must not do so, because they would delay the
    /// engine's other transfers.
    var isStarting: Bool { state.withLock { $0.isStarting } }

    /// Records that the upload was started, so that the starting thread does no more work for it.
    func hasStarted() { state.withLock { $0.isStarting = false } }

    /// Stores the prepared body.
    ///
    /// - Returns: `false` if the upload has ended meanwhile.
    func keep(_ body: (any UploadBody)?, _ headers: HTTPFields, _ resumable: ResumableUpload?) -> Bool {
        state.withLock { state in
            guard state.result == nil else { return false }
            (state.resources.body, state.resources.headers) = (body, headers)
            state.resources.resumable = resumable
            return true
        }
    }

    var host: String { withResources { $0.hop }?.host ?? plan?.target.hostAndPort ?? "" }

    /// The time since the first attempt began; zero before that.
    var elapsed: Duration { withResources { $0.stopwatch }?.elapsed ?? .zero }

    /// The last event, for a listener that is added after the end.
    var lastEvent: UploadEvent? { state.withLock { $0.result }.map { log.end($0) } }

    func withResources<Value: Sendable>(_ body: (inout Resources) -> Value) -> Value {
        state.withLock { body(&$0.resources) }
    }

    func addCallbackTask(_ task: Task<Void, Never>, for handle: Int) {
        state.withLock { $0.callbackTasks[handle, default: []].append(task) }
    }

    func callbackTasks(of handle: Int) -> [Task<Void, Never>] { state.withLock { $0.callbackTasks[handle] ?? [] } }

    private func finish(_ result: Result<UploadResponse, UploadError>, _ core: SessionCore?) {
        // Set the result before the last event is sent: a listener that is added later reads the result.
        state.withLock { $0.result = result }
        log.finished(result)
        if case .success = result { core?.earnRetry(host: host) }
        core?.remove(self)
        let (waiters, resources) = state.withLock { state in
            state.core = nil
            defer {
                state.waiters = []
                state.resources = Resources()
            }
            return (state.waiters, state.resources)
        }
        for waiter in waiters { waiter.continuation.resume(returning: result) }
        // Releasing bodies closes files and runs custom code, so it must not happen under the lock.
        _ = consume resources
    }
}

// MARK: - Handles

extension UploadRun {
    /// Adds a handle; returns `nil` if the upload has ended or is being cancelled.
    func join(priority: UploadPriority, isPaused: Bool, sequence: Int) -> Int? {
        state.withLock { state in
            guard !state.isAbandoned, state.result == nil else { return nil }
            return state.registry.join(priority: priority, isPaused: isPaused, sequence: sequence)
        }
    }

    /// The handles in the order in which they joined.
    var handles: [Int] { state.withLock { $0.result == nil && !$0.isAbandoned ? $0.registry.members : [] } }

    /// The priority of the upload, which also applies to later attempts.
    var priority: UploadPriority { state.withLock { $0.priority } }

    /// Returns the priority of a handle, or that of the upload once the handle has left.
    func priority(of handle: Int) -> UploadPriority {
        state.withLock { $0.registry.priority(of: handle) ?? $0.priority }
    }

    func prioritize(_ handle: Int, _ priority: UploadPriority) {
        state.withLock { $0.registry.prioritize(handle, priority) }
        applyHandleSettings()
    }

    /// Pauses or resumes a handle, or all handles if it is `nil`.
    func setPaused(_ handle: Int?, _ isPaused: Bool, sequence: Int) {
        state.withLock { $0.registry.setPaused(handle, isPaused, sequence: sequence) }
        applyHandleSettings()
    }

    /// Returns whether a handle is paused; `false` once it has ended.
    func isPaused(_ handle: Int) -> Bool {
        state.withLock { $0.result == nil && $0.cancelledHandles[handle] == nil && $0.registry.isPaused(handle) }
    }

    /// The core of the session; `nil` once the upload has ended.
    var core: SessionCore? { state.withLock { $0.core } }

    /// The limit of this upload, without those of its group and session.
    var ownLimit: ByteCount? { state.withLock { $0.ownLimit } }

    func limit(to rate: ByteCount?) {
        let core = state.withLock { state in
            state.ownLimit = rate
            return state.core
        }
        core?.limit(id, to: rate)
    }

    /// Applies the priority and the pause state that the handles request.
    func applyHandleSettings() {
        let elapsed = elapsed
        let (mustDrain, core) = state.withLock { state -> (Bool, SessionCore?) in
            guard state.result == nil else { return (false, nil) }
            let priority = state.registry.priority ?? state.priority
            let isMoved = priority != state.priority
            state.priority = priority
            let core = isMoved ? state.core : nil
            guard state.registry.isPaused != state.isPaused else { return (false, core) }
            state.isPaused.toggle()
            return (state.mailbox.append(state.isPaused ? .pause(elapsed: elapsed) : .resume(elapsed: elapsed)), core)
        }
        if mustDrain { drainMailbox() }
        core?.prioritize(self)
    }

    /// Cancels all handles.
    func cancelAll() {
        state.withLock { $0.isAbandoned = true }
        send(.cancel)
    }

    /// Cancels all handles because the session is closing.
    func cancelForClosing() {
        state.withLock { state in
            state.isAbandoned = true
            state.resources.keepsRemoteUpload = true
        }
        send(.sessionClosing)
    }

    /// Cancels a handle. Cancelling the last one also cancels the transfer.
    func cancel(_ handle: Int) {
        let now = broadcast.snapshot
        let (leaveResult, waiters) = state.withLock { state -> (HandleRegistry.LeaveResult, [Waiter]) in
            guard state.result == nil, !state.isAbandoned else { return (.alreadyLeft, []) }
            let leaveResult = state.registry.leave(handle)
            guard leaveResult == .othersRemain else {
                state.isAbandoned = leaveResult == .last
                return (leaveResult, [])
            }
            state.cancelledHandles[handle] = Self.cancellationError(now)
            let waiters = state.waiters.filter { $0.handle == handle }
            state.waiters.removeAll { $0.handle == handle }
            return (leaveResult, waiters)
        }
        switch leaveResult {
        case .alreadyLeft: return
        case .last: send(.cancel)
        case .othersRemain:
            broadcast.cancelHandle(handle)
            for waiter in waiters { waiter.continuation.resume(returning: .failure(Self.cancellationError(now))) }
            applyHandleSettings()
        }
    }

    /// Returns the error of a handle that is cancelled while the transfer continues for other handles.
    private static func cancellationError(_ now: UploadSnapshot) -> UploadError {
        UploadError(
            .cancelled, "The upload was cancelled by the caller. The transfer continues for other handles.",
            phase: now.phase, attempt: now.attempt, outcome: .unknown, sent: now.sent, acknowledged: now.acknowledged)
    }
}
