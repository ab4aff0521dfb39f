import WaybillCore

// The queue, and the calling of those whom it lets go on.

extension SessionCore {
    func join(_ run: UploadRun, isHeld: Bool) {
        let (host, group) = (run.host, run.plan?.options.group)
        ask { $0.join(run.id, host: host, group: group, priority: run.priority, isHeld: isHeld) }
    }
    func ready(_ id: UploadID) { ask { $0.ready(id) } }
    func requeue(_ run: UploadRun, isHeld: Bool) {
        let (host, group) = (run.host, run.plan?.options.group)
        ask { $0.requeue(run.id, host: host, group: group, priority: run.priority, isHeld: isHeld) }
    }
    /// The upload's own word is taken under the lock, so that of two changes the last one stands.
    func prioritize(_ run: UploadRun) { ask { $0.prioritize(run.id, run.priority) } }
    func hold(_ id: UploadID) { ask { $0.hold(id) } }
    func release(_ id: UploadID) { ask { $0.release(id) } }
    func stepBack(_ id: UploadID) { ask { $0.stepBack(id) } }
    func leave(_ id: UploadID) { ask { $0.leave(id) } }

    /// Does something to many uploads at once. Nobody is called meanwhile, so that none of them begins what the next moment
    /// takes back, and the cost is that of the changes.
    func all(_ change: () -> Void) {
        ask { queue in
            queue.halt()
            return AdmissionQueue.Calls()
        }
        change()
        ask { $0.goOn() }
    }

    /// Changes the queue and tells those it called.
    ///
    /// Whoever is called first also does the calling of the others that come up meanwhile. Without that, a transport
    /// that ends its attempts at once would make a thousand uploads start inside each other.
    func ask(_ change: @Sendable (inout AdmissionQueue) -> AdmissionQueue.Calls) {
        let mustCall = state.withLock { state -> Bool in
            let calls = change(&state.queue)
            // Mostly nobody is called, for a change that lets nobody go on.
            guard !calls.isEmpty else { return false }
            if state.calls.isEmpty {
                state.calls = calls
            } else {
                state.calls.prepare += calls.prepare
                state.calls.start += calls.start
            }
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
            guard !calls.isEmpty else {
                state.isCalling = false
                return nil
            }
            // Who has ended meanwhile has left the queue too, and took its slot along.
            return (calls.prepare.compactMap { state.live[$0] }, calls.start.compactMap { state.live[$0] })
        }
    }
}
