/// The state of the handles that joined one transfer. Each has its own priority and pause state, and can leave
/// separately.
///
/// The transfer has the highest priority of its handles, pauses when all of them are paused, and stops with the last
/// one.
package struct HandleRegistry: Sendable {
    private struct Wish: Sendable {
        var priority: UploadPriority
        var isPaused: Bool
        /// The sequence number of the request that set `isPaused`.
        var word: Int
    }

    /// The result of a handle leaving.
    package enum Departure: Sendable, Hashable {
        /// Other handles remain.
        case apart
        /// It was the last handle of the transfer.
        case last
        /// It had already left.
        case gone
    }

    private var wishes: [Int: Wish] = [:]
    private var next = 0

    package init() {}

    /// The handles that are present, in the order in which they joined.
    package var members: [Int] { wishes.keys.sorted() }
    /// The highest priority; `nil` if there is no handle.
    package var priority: UploadPriority? { wishes.values.lazy.map(\.priority).max() }
    /// Whether all handles are paused.
    package var isPaused: Bool { !wishes.isEmpty && wishes.values.allSatisfy(\.isPaused) }

    /// Returns whether a handle is paused.
    package func isPaused(_ handle: Int) -> Bool { wishes[handle]?.isPaused ?? false }

    /// Adds a handle.
    package mutating func join(priority: UploadPriority, isPaused: Bool, word: Int) -> Int {
        defer { next += 1 }
        wishes[next] = Wish(priority: priority, isPaused: isPaused, word: word)
        return next
    }

    /// Returns the priority of a handle.
    package func priority(of handle: Int) -> UploadPriority? { wishes[handle]?.priority }

    /// Changes the priority of a handle.
    package mutating func prioritize(_ handle: Int, _ priority: UploadPriority) {
        wishes[handle]?.priority = priority
    }

    /// Pauses or resumes a handle, or all handles if it is `nil`. Requests have sequence numbers; a request that
    /// arrives after a later one is ignored.
    package mutating func setPaused(_ handle: Int?, _ isPaused: Bool, word: Int) {
        for key in handle.map({ [$0] }) ?? Array(wishes.keys) {
            guard let last = wishes[key]?.word, last < word else { continue }
            wishes[key]?.isPaused = isPaused
            wishes[key]?.word = word
        }
    }

    /// Removes a handle. The last one is kept, because its transfer ends with it.
    package mutating func leave(_ handle: Int) -> Departure {
        guard wishes[handle] != nil else { return .gone }
        guard wishes.count > 1 else { return .last }
        wishes[handle] = nil
        return .apart
    }
}
