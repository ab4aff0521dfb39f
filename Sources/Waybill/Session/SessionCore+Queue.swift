import WaybillCore

// The queue, and the delivery of its calls.

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
    func updateAll(_ change: () -> Void) {
        updateQueue { queue in
            queue.suspendCalls()
            return AdmissionQueue.Calls()
        }
        change()
        updateQueue { $0.resumeCalls() }
    }

    /// Changes the queue and delivers its calls.
    ///
    /// The first thread that delivers calls also delivers those that are added meanwhile. Otherwise, a transport that
    /// ends its attempts immediately would start thousands of uploads recursively.
    func updateQueue(_ change: @Sendable (inout AdmissionQueue) -> AdmissionQueue.Calls) {
        let mustCall = state.withLock { state -> Bool in
            let calls = change(&state.queue)
            // Most changes cause no calls.
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
            for run in start { run.send(.admitted(elapsed: run.elapsed)) }
            for run in prepare { run.send(.mayPrepare) }
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
            // An upload that has ended meanwhile has also left the queue and released its slot.
            return (calls.prepare.compactMap { state.runs[$0] }, calls.start.compactMap { state.runs[$0] })
        }
    }
}
