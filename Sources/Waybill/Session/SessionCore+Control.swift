import WaybillCore

// What is asked of one upload, of a group, or of all of them.

/// What was said of a group.
struct GroupSettings: Sendable, Equatable {
    /// Whether its uploads start paused; `nil` to do as the session does.
    var isPaused: Bool?
    var slots: Int?
}

extension SessionCore {
    // MARK: Pausing

    /// Pauses or resumes one handle.
    func setPaused(_ run: UploadRun, _ handle: Int, _ isPaused: Bool) {
        guard let word = nextWord(isPaused) else { return }
        run.setPaused(handle, isPaused, word: word)
    }

    /// Pauses or resumes a group, or everything for `nil`, and what is started there from now on.
    func setPaused(group: String?, _ isPaused: Bool) {
        let (runs, word) = state.withLock { state -> ([UploadRun], Int) in
            guard !(state.isClosed && isPaused) else { return ([], 0) }
            state.word += 1
            if let group {
                state.set(group) { $0.isPaused = isPaused }
            } else {
                state.resumeAll()
                state.isPaused = isPaused
            }
            return (state.members(of: group), state.word)
        }
        all { for run in runs { run.setPaused(nil, isPaused, word: word) } }
    }

    /// Whether what is started in a group, or outside of all for `nil`, starts paused.
    func isPaused(group: String?) -> Bool {
        state.withLock { state in group.flatMap { state.groups[$0]?.isPaused } ?? state.isPaused }
    }

    /// The number of a new word. In a session that is closed nobody is paused any more: it waits for their ends.
    private func nextWord(_ isPaused: Bool) -> Int? {
        state.withLock { state in
            guard !(state.isClosed && isPaused) else { return nil }
            state.word += 1
            return state.word
        }
    }

    // MARK: Cancelling

    /// Cancels the uploads of a group, or all for `nil`.
    ///
    /// - Complexity: O(n log n) in the uploads of the session.
    func cancel(group: String?) {
        let runs = members(of: group)
        all { for run in runs { run.cancelAll() } }
    }

    // MARK: Finding

    /// The living uploads of a group, or all for `nil`, in the order of their starts.
    func members(of group: String?) -> [UploadRun] { state.withLock { $0.members(of: group) } }

    func run(_ id: UploadID) -> UploadRun? { state.withLock { $0.live[id] } }

    // MARK: Slots

    func setSlots(_ slots: Int?, ofGroup group: String) {
        state.withLock { state in state.set(group) { $0.slots = slots } }
        ask { $0.limit(group: group, to: slots) }
    }

    func settings(of group: String) -> GroupSettings { state.withLock { $0.groups[group] ?? GroupSettings() } }
}

extension SessionCore.State {
    /// Says something of a group; one of which nothing is said any more is forgotten.
    mutating func set(_ group: String, _ change: (inout GroupSettings) -> Void) {
        var settings = groups[group] ?? GroupSettings()
        change(&settings)
        groups[group] = settings == GroupSettings() ? nil : settings
    }

    func members(of group: String?) -> [UploadRun] {
        guard let group else { return living }
        return live.values.filter { $0.plan?.options.group == group }.sorted { $0.number < $1.number }
    }
}
