import HTTPTypes
import Logging
import WaybillCore
import WaybillCurl

/// What the uploads of a session share: the queue, the transport, and who is still alive.
///
/// It lives as long as the session or one of its uploads, so that letting go of the session ends nothing.
final class SessionCore: Sendable {
    private struct State {
        var queue: AdmissionQueue
        var retries: RetryBuckets
        var live: [UploadID: UploadRun] = [:]
        var isClosed = false
        var transport: (any UploadTransport)?
        var calls = AdmissionQueue.Calls()
        var isCalling = false
    }

    let configuration: UploadSession.Configuration
    let events = EventHub()
    private let isShared: Bool
    private let state: Locked<State>

    init(configuration: UploadSession.Configuration, transport: (any UploadTransport)?, isShared: Bool = false) {
        self.configuration = configuration
        self.isShared = isShared
        let queue = AdmissionQueue(
            slots: configuration.slots, slotsPerHost: configuration.slotsPerHost, reach: configuration.priorityReach)
        state = Locked(State(queue: queue, retries: RetryBuckets(configuration.retryBudget), transport: transport))
    }

    deinit { events.close() }

    /// The transport; libcurl's is made when the first upload needs it.
    var transport: any UploadTransport {
        state.withLock { state in
            if let transport = state.transport { return transport }
            let transport = CurlTransport(logger: configuration.logger)
            state.transport = transport
            return transport
        }
    }

    /// Starts an upload, unless the caller's task was cancelled before it came here: then nothing is opened.
    func start(_ request: UploadRequest, isCancelled: Bool = false) -> UploadTask {
        let plan = Result { () throws(UploadError) in try RequestPlan(request, configuration) }
        let run = UploadRun(request, plan, core: self)
        if case .failure(let error) = plan {
            run.post(.refused(error))
        } else if isCancelled {
            run.post(.cancel)
        } else if admit(run) {
            run.post(.started)
        } else {
            run.post(
                .refused(
                    UploadError(
                        .sessionClosed, "the session was closed: start the upload in another one", phase: .waiting)))
        }
        return UploadTask(run: run)
    }

    private func admit(_ run: UploadRun) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.live[run.id] = run
            return true
        }
    }

    /// The upload is over.
    func forget(_ id: UploadID) {
        _ = state.withLock { $0.live.removeValue(forKey: id) }
    }

    func close(_ mode: UploadSession.CloseMode) async {
        let open = state.withLock { state in
            if !isShared { state.isClosed = true }
            return Array(state.live.values)
        }
        if mode == .cancel { open.forEach { $0.post(.sessionClosing) } }
        await withTaskCancellationHandler {
            for run in open { _ = await run.result() }
        } onCancel: {
            open.forEach { $0.post(.sessionClosing) }
        }
        if !isShared { events.close() }
    }
}

// MARK: - The budget of retries

extension SessionCore {
    func spendRetry(host: String) -> Bool { state.withLock { $0.retries.spend(host) } }
    func earnRetry(host: String) { state.withLock { $0.retries.earn(host) } }
}

// MARK: - The queue

extension SessionCore {
    func join(_ id: UploadID, host: String, _ priority: UploadPriority) {
        ask { $0.join(id, host: host, priority: priority) }
    }
    func ready(_ id: UploadID) { ask { $0.ready(id) } }
    func requeue(_ id: UploadID, host: String, _ priority: UploadPriority) {
        ask { $0.requeue(id, host: host, priority: priority) }
    }
    func prioritize(_ id: UploadID, _ priority: UploadPriority) { ask { $0.prioritize(id, priority) } }
    func leave(_ id: UploadID) { ask { $0.leave(id) } }

    /// Changes the queue and tells those it called.
    ///
    /// Whoever is called first also does the calling of the others that come up meanwhile. Without that, a transport
    /// that ends its attempts at once would make a thousand uploads start inside each other.
    private func ask(_ change: @Sendable (inout AdmissionQueue) -> AdmissionQueue.Calls) {
        let mustCall = state.withLock { state -> Bool in
            let calls = change(&state.queue)
            state.calls.prepare += calls.prepare
            state.calls.start += calls.start
            defer { state.isCalling = true }
            return !state.isCalling
        }
        guard mustCall else { return }
        while let (prepare, start) = nextCalls() {
            for run in start { run.post(.admitted(elapsed: run.elapsed)) }
            for run in prepare { run.post(.mayPrepare) }
        }
    }

    private func nextCalls() -> (prepare: [UploadRun], start: [UploadRun])? {
        state.withLock { state in
            let calls = state.calls
            state.calls = AdmissionQueue.Calls()
            guard calls != AdmissionQueue.Calls() else {
                state.isCalling = false
                return nil
            }
            // Who has ended meanwhile has left the queue too, and took its slot along.
            return (calls.prepare.compactMap { state.live[$0] }, calls.start.compactMap { state.live[$0] })
        }
    }
}
