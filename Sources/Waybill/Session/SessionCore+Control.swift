import WaybillCore

// Control of one upload, of a group, or of all uploads.

/// The settings of a group.
struct GroupSettings: Sendable, Equatable {
    /// Whether uploads of the group start paused; `nil` to use the setting of the session.
    var isPaused: Bool?
    var slots: Int?
}

extension SessionCore {
    // MARK: Pausing

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

    // MARK: Cancelling

    /// Cancels the uploads of a group, or all uploads if it is `nil`.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads in the session.
    func cancel(group: String?) {
        let runs = members(of: group)
        updateAll { for run in runs { run.cancelAll() } }
    }

    // MARK: Lookup

    /// Returns the uploads of a group that have not ended, or all uploads if it is `nil`, in the order they were
    /// started.
    func members(of group: String?) -> [UploadRun] { state.withLock { $0.members(of: group) } }

    func run(_ id: UploadID) -> UploadRun? { state.withLock { $0.runs[id] } }

    // MARK: Slots

    func setSlots(_ slots: Int?, ofGroup group: String) {
        state.withLock { state in state.set(group) { $0.slots = slots } }
        updateQueue { $0.limit(group: group, to: slots) }
    }

    func settings(of group: String) -> GroupSettings { state.withLock { $0.groups[group] ?? GroupSettings() } }
}

extension SessionCore.State {
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
