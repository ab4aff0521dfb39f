import HTTPTypes
import Logging
import WaybillCore

/// One upload at work: a mailbox before the state machine, and hands that do what it says.
///
/// Events are put in the mailbox by anyone, from any thread. Whoever finds nobody emptying it empties it: hands each
/// event to the machine and performs the actions, in order and with no lock held. So an event that comes up while actions
/// are performed, from inside them too, waits its turn and is never lost.
final class UploadRun: Sendable {
    struct State {
        var machine: UploadStateMachine
        var mailbox: [UploadStateMachine.Event] = []
        var isEmptying = false
        var held = Held()
        var core: SessionCore?
        var result: Result<UploadResponse, UploadError>?
        var waiters: [Waiter] = []
        /// Who wants what of it.
        var book = HandleBook()
        /// Whether whoever starts it is still at it.
        var isStarting = true
        /// Whether the machine was told to stand still.
        var isPaused = false
        var priority: UploadPriority
        /// The limit of this upload alone.
        var ownLimit: ByteCount?
        /// Whether all of it was cancelled, so that nobody can join any more.
        var isAbandoned = false
        /// How handles ended that were cancelled while others stayed.
        var departed: [Int: UploadError] = [:]
    }

    /// Somebody who waits for the end of a handle, or for that of the whole.
    struct Waiter {
        let handle: Int?
        let continuation: CheckedContinuation<Result<UploadResponse, UploadError>, Never>
    }

    /// What has to be let go at the end.
    struct Held {
        var body: (any UploadBody)?
        var headers: HTTPFields = [:]
        var preparation: Task<Void, Never>?
        var control: (any TransferControl)?
        var timer: Task<Void, Never>?
        /// Gives back the slot of a paused transfer.
        var slotTimer: Task<Void, Never>?
        /// Whether the transfer stands still. Its position is asked for then, whoever listens: by it is decided whether the
        /// slot can be given back.
        var isStanding = false
        /// Where redirects have led.
        var hop: UploadRoute.Hop?
        /// The credential that was fetched or sent last.
        var credential: Secret?
        /// The last attempt as the transport got it.
        var sent: TransferRequest?
        /// Runs since the first attempt began.
        var stopwatch: Stopwatch?
    }

    let id: UploadID
    /// Its place among the uploads of the session, in the order of their starts.
    let number: Int
    let request: UploadRequest
    let callbacks = CallbackPumps()
    /// What was made of the request; `nil` for one that was refused.
    let plan: RequestPlan?
    let clock: any Clock<Duration>
    let jitter: @Sendable () -> Double
    let log: UploadLog
    /// Where events are told.
    let events: EventHub
    let broadcast: ProgressBroadcast
    let state: Locked<State>

    init(
        _ request: UploadRequest, _ plan: RequestPlan?, id: UploadID, number: Int, core: SessionCore
    ) {
        let configuration = core.configuration
        self.id = id
        self.number = number
        self.request = request
        self.plan = plan
        clock = configuration.clock
        jitter = configuration.jitter
        broadcast = ProgressBroadcast(clock: configuration.clock)
        events = core.events
        log = UploadLog(configuration.logger, id: id, events: events, stopwatch: broadcast.stopwatch)
        var rules = plan?.rules ?? LifeRules()
        // A year is for ever, and no clock overflows by it.
        rules.pauseKeepsSlot = min(max(.zero, configuration.pauseKeepsSlot), .seconds(365 * 86_400))
        let priority = plan?.options.priority ?? .normal
        let limit = plan?.options.transfer.rateLimit
        state = Locked(
            State(machine: UploadStateMachine(rules), core: core, priority: priority, ownLimit: limit))
    }

    var snapshot: UploadSnapshot { broadcast.snapshot }
    var wantsProgress: Bool { broadcast.hasListeners || hold { $0.isStanding } }
    func currentProgress(for handle: Int) -> UploadProgress { broadcast.current(for: handle) }
    func listen(for handle: Int) -> Listening<UploadProgress> { broadcast.listen(for: handle) }

    /// The end of a handle, or of the whole for `nil`, when it has come.
    func result(for handle: Int?) async -> Result<UploadResponse, UploadError> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state -> Result<UploadResponse, UploadError>? in
                if let error = handle.flatMap({ state.departed[$0] }) { return .failure(error) }
                if state.result == nil { state.waiters.append(Waiter(handle: handle, continuation: continuation)) }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}

// MARK: - The mailbox

extension UploadRun {
    func post(_ event: UploadStateMachine.Event) {
        let mustEmpty = state.withLock { $0.put(event) }
        if mustEmpty { emptyMailbox() }
    }

    /// For whoever put an event in while nobody was emptying.
    func emptyMailbox() {
        while let (actions, core) = nextActions() {
            for action in actions { perform(action, core) }
        }
    }

    private func nextActions() -> (actions: [UploadStateMachine.Action], core: SessionCore?)? {
        state.withLock { state in
            guard !state.mailbox.isEmpty else {
                state.isEmptying = false
                return nil
            }
            return (state.machine.handle(state.mailbox.removeFirst()), state.core)
        }
    }

    private func perform(_ action: UploadStateMachine.Action, _ core: SessionCore?) {
        switch action {
        case .publish(let snapshot):
            log.moved(from: broadcast.snapshot, to: snapshot)
            // Whoever waits for an answer sends nothing, and leaves its share to others.
            if snapshot.phase == .awaitingResponse { core?.endSending(id) }
            broadcast.publish(snapshot)
        case .prepare: prepare()
        case .stopPreparing: hold { $0.preparation.take() }?.cancel()
        case .startTransfer(let attempt): startTransfer(attempt, core)
        case .cancelTransfer: standStill(false)?.cancel()
        case .pauseTransfer:
            standStill(true)?.pause()
            core?.endSending(id)
        case .resumeTransfer:
            if let core { post(.rateChanged(core.beginSending(self))) }
            standStill(false)?.resume()
        case .limitTransfer(let rate): hold { $0.control }?.limit(to: rate)
        case .scheduleSlotReturn(let delay, let pause):
            let timer = timer(after: delay, .slotReturnDue(pause: pause))
            hold { $0.slotTimer = timer }
        case .unscheduleSlotReturn: hold { $0.slotTimer.take() }?.cancel()
        case .restarted(let attempt): log.restarted(attempt)
        case .askForRetry(let attempt):
            post(.retryAnswered(attempt: attempt, isGranted: core?.spendRetry(host: host) ?? false))
        case .refreshCredential(let attempt): refreshCredential(attempt)
        case .stopRefreshing: hold { $0.timer.take() }?.cancel()
        case .redirect(let hop):
            hold { $0.hop = hop }
            log.redirected(to: hop.url, attempt: broadcast.snapshot.attempt)
        case .scheduleRetry(let delay, let attempt): scheduleRetry(after: delay, attempt)
        case .unscheduleRetry: hold { $0.timer.take() }?.cancel()
        case .join(let isHeld):
            log.queued()
            core?.join(self, isHeld: isHeld)
        case .awaitSlot: core?.ready(id)
        case .requeue(let isHeld): core?.requeue(self, isHeld: isHeld)
        case .hold: core?.hold(id)
        case .release: core?.release(id)
        case .stepBack: core?.stepBack(id)
        case .withdraw: core?.leave(id)
        case .releaseSlot:
            _ = standStill(false)
            core?.endSending(id)
            core?.leave(id)
        case .finish(let result): finish(result, core)
        }
    }

    private func standStill(_ isStanding: Bool) -> (any TransferControl)? {
        hold { held in
            held.isStanding = isStanding
            return held.control
        }
    }

    var host: String { hold { $0.hop }?.host ?? plan?.target.hostAndPort ?? "" }

    /// The time since the first attempt began; zero before that.
    var elapsed: Duration { hold { $0.stopwatch }?.elapsed ?? .zero }

    /// The end, for somebody who comes to listen after it.
    var lastEvent: UploadEvent? { state.withLock { $0.result }.map { log.end($0) } }

    func hold<Value: Sendable>(_ body: (inout Held) -> Value) -> Value {
        state.withLock { body(&$0.held) }
    }

    private func finish(_ result: Result<UploadResponse, UploadError>, _ core: SessionCore?) {
        log.finished(result)
        if case .success = result { core?.earnRetry(host: host) }
        core?.forget(self)
        let (waiters, held) = state.withLock { state in
            state.result = result
            state.core = nil
            defer {
                state.waiters = []
                state.held = Held()
            }
            return (state.waiters, state.held)
        }
        for waiter in waiters { waiter.continuation.resume(returning: result) }
        // Bodies close files and run code that is not ours when they go: not under the lock.
        _ = consume held
    }
}

extension UploadRun.State {
    /// Puts an event in the mailbox.
    ///
    /// - Returns: Whether whoever put it in has to empty it.
    mutating func put(_ event: UploadStateMachine.Event) -> Bool {
        mailbox.append(event)
        defer { isEmptying = true }
        return !isEmptying
    }
}
