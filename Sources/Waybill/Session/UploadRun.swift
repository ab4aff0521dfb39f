import HTTPTypes
import Logging
import WaybillCore
import WaybillMultipart

/// One upload at work: a mailbox before the state machine, and hands that do what it says.
///
/// Events are put in the mailbox by anyone, from any thread. Whoever finds nobody emptying it empties it: hands each
/// event to the machine and performs the actions, in order and with no lock held. So an event that comes up while actions
/// are performed, from inside them too, waits its turn and is never lost.
final class UploadRun: Sendable {
    private struct State {
        var machine: UploadStateMachine
        var mailbox: [UploadStateMachine.Event] = []
        var isEmptying = false
        var held: Held
        var core: SessionCore?
        var result: Result<UploadResponse, UploadError>?
        var waiters: [CheckedContinuation<Result<UploadResponse, UploadError>, Never>] = []
    }

    /// What has to be let go at the end.
    private struct Held {
        var body: (any UploadBody)?
        var headers: HTTPFields = [:]
        var preparation: Task<Void, Never>?
        var control: (any TransferControl)?
        var timer: Task<Void, Never>?
        var priority: UploadPriority
        /// Where redirects have led.
        var hop: UploadRoute.Hop?
        /// The credential that was fetched or sent last.
        var credential: Secret?
        /// The last attempt as the transport got it.
        var sent: TransferRequest?
        /// The time since the first attempt began.
        var elapsed: (@Sendable () -> Duration)?
    }

    let id = UploadID()
    let request: UploadRequest
    let callbacks = CallbackPumps()
    private let plan: Result<RequestPlan, UploadError>
    private let clock: any Clock<Duration>
    private let jitter: @Sendable () -> Double
    private let log: UploadLog
    /// Where events are told.
    let events: EventHub
    private let broadcast: ProgressBroadcast
    private let state: Locked<State>

    init(_ request: UploadRequest, _ plan: Result<RequestPlan, UploadError>, core: SessionCore) {
        let configuration = core.configuration
        self.request = request
        self.plan = plan
        clock = configuration.clock
        jitter = configuration.jitter
        broadcast = ProgressBroadcast(clock: configuration.clock)
        events = core.events
        log = UploadLog(configuration.logger, id: id, events: events, elapsed: broadcast.elapsed)
        let machine = UploadStateMachine((try? plan.get())?.rules ?? LifeRules())
        let priority = (try? plan.get())?.options.priority ?? .normal
        state = Locked(State(machine: machine, held: Held(priority: priority), core: core))
    }

    var snapshot: UploadSnapshot { broadcast.snapshot }
    var wantsProgress: Bool { broadcast.hasListeners }
    func currentProgress() -> UploadProgress { broadcast.current() }
    func listen() -> AsyncStream<UploadProgress> { broadcast.listen() }

    /// The end, when it has come.
    func result() async -> Result<UploadResponse, UploadError> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state in
                if state.result == nil { state.waiters.append(continuation) }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}

// MARK: - The mailbox

extension UploadRun {
    func post(_ event: UploadStateMachine.Event) {
        let mustEmpty = state.withLock { state -> Bool in
            state.mailbox.append(event)
            defer { state.isEmptying = true }
            return !state.isEmptying
        }
        guard mustEmpty else { return }
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
            let last = broadcast.snapshot
            if snapshot.phase != last.phase || snapshot.attempt != last.attempt { log.phase(snapshot, after: last) }
            broadcast.publish(snapshot)
        case .prepare: prepare()
        case .stopPreparing: hold { $0.preparation.take() }?.cancel()
        case .startTransfer(let attempt): startTransfer(attempt, core)
        case .cancelTransfer: hold { $0.control }?.cancel()
        case .askForRetry(let attempt):
            post(.retryAnswered(attempt: attempt, isGranted: core?.spendRetry(host: host) ?? false))
        case .refreshCredential(let attempt): refreshCredential(attempt)
        case .stopRefreshing: hold { $0.timer.take() }?.cancel()
        case .redirect(let hop):
            hold { $0.hop = hop }
            log.redirected(to: hop.url, attempt: broadcast.snapshot.attempt)
        case .scheduleRetry(let delay, let attempt): scheduleRetry(after: delay, attempt)
        case .unscheduleRetry: hold { $0.timer.take() }?.cancel()
        case .join:
            log.queued()
            core?.join(id, host: host, priority)
        case .awaitSlot: core?.ready(id)
        case .requeue: core?.requeue(id, host: host, priority)
        case .withdraw, .releaseSlot: core?.leave(id)
        case .finish(let result): finish(result, core)
        }
    }

    private var host: String { hold { $0.hop }?.host ?? (try? plan.get())?.target.hostAndPort ?? "" }

    /// How urgent the upload is, now and in the attempts to come.
    var priority: UploadPriority { hold { $0.priority } }

    func prioritize(_ priority: UploadPriority) {
        let core = state.withLock { state in
            state.held.priority = priority
            return state.core
        }
        core?.prioritize(id, priority)
    }

    /// The time since the first attempt began; zero before that.
    var elapsed: Duration { hold { $0.elapsed }?() ?? .zero }

    /// The end, for somebody who comes to listen after it.
    var lastEvent: UploadEvent? { state.withLock { $0.result }.map { log.end($0) } }

    private func hold<Value: Sendable>(_ body: (inout Held) -> Value) -> Value {
        state.withLock { body(&$0.held) }
    }
}

// MARK: - Preparing

extension UploadRun {
    private func prepare() {
        switch request.content.kind {
        case .empty, .notAFile: prepareNow(nil)
        case .body(let body): prepareNow(body)
        case .form(let form): prepareLater { [plan] in try await plan.get().composed(form).prepared() }
        case .file(let path, let type): prepareLater { try FileBody(path: path, contentType: type) }
        }
    }

    private func prepareNow(_ body: (any UploadBody)?) {
        guard let refresher, refresher.current == nil else { return prepared(body) }
        prepareLater { body }
    }

    private func prepareLater(_ make: @escaping @Sendable () async throws -> (any UploadBody)?) {
        let task = Task { [weak self] in
            do {
                let body = try await make()
                if let self, self.refresher?.current == nil { try await self.fetchCredential(rejected: nil) }
                self?.prepared(body)
            } catch let error as UploadError {
                self?.post(.preparationFailed(error))
            } catch {
                self?.post(.preparationFailed(UploadError(preparing: error)))
            }
        }
        hold { $0.preparation = task }
    }

    private func prepared(_ body: (any UploadBody)?) {
        do {
            let headers = try plan.get().headers(for: body)
            let isWanted = state.withLock { state -> Bool in
                guard state.result == nil else { return false }
                state.held.body = body
                state.held.headers = headers
                return true
            }
            guard isWanted else { return }
            broadcast.describe(body?.parts ?? [])
            post(.prepared(total: body.map(\.length) ?? 0, isReplayable: body?.isReplayable ?? true))
        } catch {
            post(.preparationFailed(error))
        }
    }
}

// MARK: - Sending

extension UploadRun {
    private func startTransfer(_ attempt: Int, _ core: SessionCore?) {
        guard let core, let plan = try? plan.get() else { return }
        let (body, headers, redirected) = hold { held in
            if held.elapsed == nil { held.elapsed = Self.stopwatch(clock) }
            return (held.body, held.headers, held.hop)
        }
        let hop = redirected ?? plan.firstHop
        var fields = plan.headers(headers, on: hop)
        if hop.keepsSecrets, let credential = credential(of: plan) { fields[.authorization] = credential.value }
        if let cookie = plan.cookies?.field(for: hop.url) {
            fields[.cookie] = [fields[.cookie], cookie].compactMap(\.self).joined(separator: "; ")
        }
        var options = plan.options.transfer
        options.digest = hop.keepsSecrets ? plan.options.authentication?.digest ?? options.digest : nil
        let transfer = TransferRequest(
            id: id, method: hop.method, url: hop.url, headers: fields,
            body: hop.sendsBody ? body : nil, options: options)
        hold { $0.sent = transfer }
        log.started(transfer, attempt: attempt)
        let sink = AttemptSink(run: self, attempt: attempt)
        guard !plan.chain.isEmpty else {
            let control = core.transport.start(transfer, sink: sink)
            return hold { $0.control = control }
        }
        let intercepted = InterceptedAttempt(
            transfer, attempt: attempt, chain: plan.chain, adapts: hop.keepsSecrets, accepts: plan.options.accepts,
            transport: core.transport, sink: sink)
        hold { $0.control = intercepted }
        intercepted.start { [weak self] adapted in self?.hold { $0.sent = adapted } }
    }

    /// An event of the transport, on its thread.
    func transfer(_ event: TransferEvent, attempt: Int) {
        guard case .ended(var end) = event else {
            log.transfer(event, attempt: attempt)
            if case .responseHead(let head) = event, let jar = (try? plan.get())?.cookies {
                jar.keep(head.headerFields, from: hold { $0.sent }?.url ?? "")
            }
            return post(.transfer(event, attempt: attempt, jitter: 0))
        }
        switch end.result {
        case .failure(var error):
            // libcurl's messages quote what they are about; a proxy's or a URL's credentials could be in them.
            error.message = scrubbed(error.message)
            end.result = .failure(error)
        case .success(var response):
            // A server may write what it was sent into its reason phrase; "OK" is too short for a secret.
            let status = response.head.status
            if let objection = end.objection { end.objection?.message = scrubbed(objection.message) }
            guard status.reasonPhrase.utf8.count > 2 else { break }
            response.head.status = HTTPResponse.Status(
                code: status.code, reasonPhrase: scrubbed(status.reasonPhrase))
            end.result = .success(response)
        }
        log.ended(end, attempt: attempt)
        post(.transfer(.ended(end), attempt: attempt, jitter: jitter(), elapsed: elapsed))
    }

    private func scrubbed(_ text: String) -> String {
        let plan = try? plan.get()
        let (sent, hop) = hold { ($0.sent, $0.hop) }
        let text = Redaction.scrub(text, of: plan?.options.transfer.secrets ?? [])
        return [request.url, plan?.url, hop?.url, sent?.url].compactMap(\.self).reduce(text) { text, url in
            Redaction.scrub(
                text,
                of: Redaction.secrets(url: url, proxy: plan?.options.transfer.proxy, headers: sent?.headers ?? [:]))
        }
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    private func scheduleRetry(after delay: Duration, _ attempt: Int) {
        log.retrying(after: delay, attempt: attempt)
        let timer = Task { [weak self, clock] in
            do {
                try await clock.sleep(for: delay)
                self?.post(.retryDue(attempt: attempt))
            } catch {
                // Unscheduled.
            }
        }
        hold { held in
            held.control = nil
            held.timer = timer
        }
    }

    private func finish(_ result: Result<UploadResponse, UploadError>, _ core: SessionCore?) {
        log.finished(result)
        if case .success = result { core?.earnRetry(host: host) }
        core?.forget(id)
        let (waiters, held) = state.withLock { state in
            state.result = result
            state.core = nil
            defer {
                state.waiters = []
                state.held = Held(priority: state.held.priority)
            }
            return (state.waiters, state.held)
        }
        for waiter in waiters { waiter.resume(returning: result) }
        // Bodies close files and run code that is not ours when they go: not under the lock.
        _ = consume held
    }
}

// MARK: - Credentials

extension UploadRun {
    private var refresher: (any CredentialRefresher)? { (try? plan.get())?.options.authentication?.refresher }

    /// The credential to send now. One that was renewed meanwhile is taken over one that was fetched for this upload.
    private func credential(of plan: RequestPlan) -> Secret? {
        guard let refresher else { return plan.credential }
        let current = refresher.current
        return hold { held in
            held.credential = current ?? held.credential
            return held.credential
        }
    }

    private func fetchCredential(rejected: Secret?) async throws(UploadError) {
        guard let refresher else { return }
        do {
            let value = try await refresher.refresh(rejected: rejected)
            _ = try Authentication.checked(value.value)
            hold { $0.credential = value }
        } catch let error as UploadError {
            throw error
        } catch {
            throw UploadError(
                .credentialRefreshFailed,
                "no fresh credential could be had for the upload: the cause says what the refresher met",
                phase: .preparing, cause: error)
        }
    }

    private func refreshCredential(_ attempt: Int) {
        let used = hold { $0.credential }
        log.refreshing(attempt: attempt)
        let task = Task { [weak self] in
            do throws(UploadError) {
                try await self?.fetchCredential(rejected: used)
                self?.post(.credentialReady(attempt: attempt))
            } catch {
                self?.post(.credentialFailed(attempt: attempt, error))
            }
        }
        hold { held in
            held.control = nil
            held.timer = task
        }
    }
}

/// Tells the run which attempt an event is of, so that a late one is known as late.
private final class AttemptSink: TransferSink {
    private let run: UploadRun
    private let attempt: Int

    init(run: UploadRun, attempt: Int) {
        self.run = run
        self.attempt = attempt
    }

    func transfer(_ event: TransferEvent) { run.transfer(event, attempt: attempt) }
    var wantsProgress: Bool { run.wantsProgress }
}
