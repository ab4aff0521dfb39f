/// The state of the handles that joined one transfer. Each has its own priority and pause state, and can leave
/// separately.
///
/// The transfer has the highest priority of its handles, pauses when all of them are paused, and stops with the last
/// one.
package struct HandleRegistry: Sendable {
    private struct Settings: Sendable {
        var priority: UploadPriority
        var isPaused: Bool
        /// The sequence number of the request that set `isPaused`.
        var sequence: Int
    }

    /// The result of a handle leaving.
    package enum LeaveResult: Sendable, Hashable {
        /// Other handles remain.
        case othersRemain
        /// It was the last handle of the transfer.
        case last
        /// It had already left.
        case alreadyLeft
    }

    private var settings: [Int: Settings] = [:]
    private var next = 0

    package init() {}

    /// The handles that are present, in the order in which they joined.
    package var members: [Int] { settings.keys.sorted() }
    /// The highest priority; `nil` if there is no handle.
    package var priority: UploadPriority? { settings.values.lazy.map(\.priority).max() }
    /// Whether all handles are paused.
    package var isPaused: Bool { !settings.isEmpty && settings.values.allSatisfy(\.isPaused) }

    /// Returns whether a handle is paused.
    package func isPaused(_ handle: Int) -> Bool { settings[handle]?.isPaused ?? false }

    /// Adds a handle.
    package mutating func join(priority: UploadPriority, isPaused: Bool, sequence: Int) -> Int {
        defer { next += 1 }
        settings[next] = Settings(priority: priority, isPaused: isPaused, sequence: sequence)
        return next
    }

    /// Returns the priority of a handle.
    package func priority(of handle: Int) -> UploadPriority? { settings[handle]?.priority }

    /// Changes the priority of a handle.
    package mutating func prioritize(_ handle: Int, _ priority: UploadPriority) {
        settings[handle]?.priority = priority
    }

    /// Pauses or resumes a handle, or all handles if it is `nil`. Requests have sequence numbers; a request that
    /// arrives after a later one is ignored.
    package mutating func setPaused(_ handle: Int?, _ isPaused: Bool, sequence: Int) {
        for key in handle.map({ [$0] }) ?? Array(settings.keys) {
            guard let last = settings[key]?.sequence, last < sequence else { continue }
            settings[key]?.isPaused = isPaused
            settings[key]?.sequence = sequence
        }
    }

    /// Removes a handle. The last one is kept, because its transfer ends with it.
    package mutating func leave(_ handle: Int) -> LeaveResult {
        guard settings[handle] != nil else { return .alreadyLeft }
        guard settings.count > 1 else { return .last }
        settings[handle] = nil
        return .othersRemain
    }
}
