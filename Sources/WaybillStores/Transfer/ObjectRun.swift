import Waybill
import WaybillCore

/// The shared state of an object's requests: they are paused, cancelled and counted together.
///
/// The protocol of a store sends every request with ``send(_:in:size:)`` and reports its phase; the handle of the
/// upload controls and observes this object.
final class ObjectRun: Sendable {
    private struct State: Sendable {
        var counter = ByteCounter()
        var phase = ObjectPhase.starting
        var isPaused = false
        var activeRequests: [UploadID: ActiveRequest] = [:]

        var snapshot: ObjectProgress {
            // All bytes were acknowledged, and the response has not arrived.
            let isComplete = counter.total.map { $0 == counter.acknowledged } ?? false
            return ObjectProgress(
                phase: phase == .sending && isComplete ? .completing : phase, acknowledged: counter.acknowledged,
                total: counter.total, bytesPerSecond: counter.bytesPerSecond, isPaused: isPaused, retry: counter.retry)
        }
    }

    /// A request in flight.
    private struct ActiveRequest: Sendable {
        var task: UploadTask
        var isCounted: Bool
        var watcher: Task<Void, Never>?
    }

    /// The group of all requests in the session; `nil` for the group in their options.
    private let group: String?
    private let state = Locked(State())
    /// The listeners. Snapshots are sent while the lock of the state is held, which preserves their order.
    private let listeners = Broadcast<Never?, ObjectProgress>()
    private let pauseSignal = Observed(false)

    init(group: String? = nil) {
        self.group = group
    }

    deinit { listeners.close() }

    // MARK: For a store's protocol

    /// Sets the size of the object.
    func setTotal(_ bytes: Int64?) { change { $0.counter.total = bytes } }

    /// Sets the phase of the upload, unless it has ended.
    func enter(_ phase: ObjectPhase) { change { if !$0.phase.isTerminal { $0.phase = phase } } }

    /// Adds bytes that the store has from an earlier run.
    func addStored(bytes: Int64) { change { $0.counter.addStored(bytes) } }

    /// Removes stored bytes that the store has lost. The reported count does not decrease.
    func forget() { change { $0.counter.forget() } }

    /// Sends a request; waits while the upload is paused. `size` is the number of object bytes in the request, for
    /// progress; `nil` if it carries none.
    ///
    /// - Throws: ``UploadError``, with `cancelled` if the task was cancelled.
    func send(
        _ request: UploadRequest, in session: UploadSession, size: Int64? = nil
    ) async throws(UploadError) -> UploadResponse {
        await pauseSignal.wait { !$0 }
        guard !Task.isCancelled else {
            throw UploadError(.cancelled, "The upload was cancelled.", phase: .cancelled)
        }
        var request = request
        if let group { request.options?.group = group }
        let task = session.start(request)
        didStart(task, isCounted: size != nil)
        do throws(UploadError) {
            let response = try await task.response
            didEnd(task, keeping: size)
            return response
        } catch {
            didEnd(task, keeping: nil)
            throw error
        }
    }

    private func didStart(_ task: UploadTask, isCounted: Bool) {
        let (isPaused, hasListeners) = state.withLock { state in
            state.activeRequests[task.id] = ActiveRequest(task: task, isCounted: isCounted)
            return (state.isPaused, !listeners.isEmpty)
        }
        if isPaused { task.pause() }
        if hasListeners { watch(task) }
    }

    private func didEnd(_ task: UploadTask, keeping bytes: Int64?) {
        let watcher = state.withLock { $0.activeRequests.removeValue(forKey: task.id)?.watcher }
        watcher?.cancel()
        change { $0.counter.end(task.id, keeping: bytes) }
    }

    /// Starts observing a request. Without listeners, requests are not observed.
    private func watch(_ task: UploadTask) {
        let watcher = Task { [weak self] in
            for await progress in task.progress {
                guard !Task.isCancelled else { return }
                self?.note(task.id, progress)
            }
        }
        let isLate = state.withLock { state in
            guard state.activeRequests[task.id]?.watcher == nil else { return true }
            state.activeRequests[task.id]?.watcher = watcher
            return state.activeRequests[task.id] == nil
        }
        if isLate { watcher.cancel() }
    }

    private func note(_ id: UploadID, _ progress: UploadProgress) {
        change { state in
            guard let request = state.activeRequests[id] else { return }
            state.counter.wait(id, for: progress.retry)
            guard request.isCounted else { return }
            state.counter.move(id, bytes: progress.acknowledged, rate: progress.bytesPerSecond)
        }
    }

    // MARK: For the handle

    var snapshot: ObjectProgress { state.withLock { $0.snapshot } }

    func setPaused(_ isPaused: Bool) {
        var tasks: [UploadTask] = []
        change { state in
            guard !state.phase.isTerminal else { return }
            state.isPaused = isPaused
            tasks = state.activeRequests.values.map(\.task)
        }
        // Concurrent calls can interleave: apply the state, then check whether it has changed in the meantime.
        var applied: Bool
        repeat {
            let now = snapshot
            applied = now.isPaused && !now.phase.isTerminal
            pauseSignal.update { $0 = applied }
            for task in tasks { if applied { task.pause() } else { task.resume() } }
        } while snapshot.isPaused != applied && !snapshot.phase.isTerminal
    }

    /// Ends the upload with a final phase.
    func end(_ phase: ObjectPhase) {
        let wakeups = state.withLock { state -> BroadcastWakeups<ObjectProgress> in
            state.phase = phase
            state.isPaused = false
            var wakeups = listeners.send(state.snapshot)
            wakeups += listeners.finishAll()
            return wakeups
        }
        pauseSignal.update { $0 = false }
        wakeups.resume()
    }

    /// Adds a listener, which starts with the latest snapshot.
    func listen() -> BroadcastSequence<ObjectProgress> {
        let (stream, unobserved) = state.withLock { state -> (BroadcastSequence<ObjectProgress>, [UploadTask]) in
            let hasEnded = state.phase.isTerminal
            return (
                listeners.listen(to: nil, first: state.snapshot, isLast: hasEnded),
                hasEnded ? [] : state.activeRequests.values.filter { $0.watcher == nil }.map(\.task)
            )
        }
        unobserved.forEach(watch)
        return stream
    }

    private func change(_ body: (inout State) -> Void) {
        let wakeups = state.withLock { state -> BroadcastWakeups<ObjectProgress> in
            let before = state.snapshot
            body(&state)
            let after = state.snapshot
            return after == before || after.phase.isTerminal ? BroadcastWakeups() : listeners.send(after)
        }
        wakeups.resume()
    }
}
