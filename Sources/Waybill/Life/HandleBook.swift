/// What the handles of one transfer want of it: they joined by a key, and each may leave by itself. Pure.
///
/// The transfer is as urgent as its most urgent handle, stands still when all of them want that, and stops with the last.
package struct HandleBook: Sendable {
    private struct Wish: Sendable {
        var priority: UploadPriority
        var isPaused: Bool
        /// The number of the word that said so.
        var word: Int
    }

    /// How a handle leaves.
    package enum Leaving: Sendable, Hashable {
        /// Others stay.
        case apart
        /// It was the last one: the transfer has nobody left.
        case last
        /// It was gone already.
        case gone
    }

    private var wishes: [Int: Wish] = [:]
    private var next = 0

    package init() {}

    /// The handles that are there, in the order in which they came.
    package var members: [Int] { wishes.keys.sorted() }
    /// The priority of the most urgent; `nil` when nobody is there.
    package var priority: UploadPriority? { wishes.values.lazy.map(\.priority).max() }
    /// Whether all want to stand still.
    package var isPaused: Bool { !wishes.isEmpty && wishes.values.allSatisfy(\.isPaused) }

    /// Whether a handle wants to stand still.
    package func isPaused(_ handle: Int) -> Bool { wishes[handle]?.isPaused ?? false }

    /// A handle comes.
    package mutating func join(priority: UploadPriority, isPaused: Bool, word: Int) -> Int {
        defer { next += 1 }
        wishes[next] = Wish(priority: priority, isPaused: isPaused, word: word)
        return next
    }

    /// How urgent a handle is.
    package func priority(of handle: Int) -> UploadPriority? { wishes[handle]?.priority }

    /// A handle becomes more or less urgent.
    package mutating func prioritize(_ handle: Int, _ priority: UploadPriority) {
        wishes[handle]?.priority = priority
    }

    /// A handle wants to stand still, or to go on; `nil` for all of them. Words are numbered in the order in which they were
    /// said, and one that comes after a later one is not heard.
    package mutating func setPaused(_ handle: Int?, _ isPaused: Bool, word: Int) {
        for key in handle.map({ [$0] }) ?? Array(wishes.keys) {
            guard let last = wishes[key]?.word, last < word else { continue }
            wishes[key]?.isPaused = isPaused
            wishes[key]?.word = word
        }
    }

    /// A handle goes. The last one stays in the book, for its transfer ends with it.
    package mutating func leave(_ handle: Int) -> Leaving {
        guard wishes[handle] != nil else { return .gone }
        guard wishes.count > 1 else { return .last }
        wishes[handle] = nil
        return .apart
    }
}
