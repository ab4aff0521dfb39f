import WaybillCore

/// A line for each priority. The member with the lowest rank is first: its ticket number less `reach` for each step of
/// priority.
struct PriorityLines: Sendable {
    /// The first member of a line, and its rank.
    struct Head: Comparable {
        var priority: UploadPriority
        /// The ticket number less the value of the priority.
        var rank: Int64
        var ticket: Int64

        static func < (left: Self, right: Self) -> Bool { (left.rank, left.ticket) < (right.rank, right.ticket) }
    }

    /// Empty until a member is inserted, because most uploads never wait in a line.
    private var lines: [Line] = []

    mutating func insert(_ id: UploadID, _ ticket: Int64, _ priority: UploadPriority) {
        if lines.isEmpty { lines = [Line](repeating: Line(), count: UploadPriority.allCases.count) }
        lines[Self.index(priority)].insert(id, ticket)
    }

    /// Returns the first member that is still present. Members before it are dropped.
    mutating func head(reach: Int64, where isPresent: (UploadID, Int64, UploadPriority) -> Bool) -> Head? {
        guard !lines.isEmpty else { return nil }
        var best: Head?
        for priority in UploadPriority.allCases {
            guard let ticket = lines[Self.index(priority)].head(where: { isPresent($0, $1, priority) }) else {
                continue
            }
            let head = Head(priority: priority, rank: ticket - Int64(priority.rawValue) * reach, ticket: ticket)
            if best.map({ head < $0 }) ?? true { best = head }
        }
        return best
    }

    /// Removes the member that ``head(reach:where:)`` returned.
    mutating func remove(_ head: Head) -> UploadID { lines[Self.index(head.priority)].removeHead() }

    private static func index(_ priority: UploadPriority) -> Int {
        priority.rawValue - UploadPriority.veryLow.rawValue
    }
}

/// A line in the order of ticket numbers. Appending a member with the highest number and removing the head take
/// constant time.
private struct Line: Sendable {
    private var members: [(id: UploadID, ticket: Int64)] = []
    private var first = 0

    /// A member that is still present, because it left the line for another one and returned, is not inserted twice.
    mutating func insert(_ id: UploadID, _ ticket: Int64) {
        guard first < members.count, let last = members.last, last.ticket >= ticket else {
            return members.append((id, ticket))
        }
        var (low, high) = (first, members.count)
        while low < high {
            let middle = (low + high) / 2
            if members[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        if members[low].ticket != ticket { members.insert((id, ticket), at: low) }
    }

    /// Returns the number of the first member that is still present. Members before it are dropped.
    mutating func head(where isPresent: (UploadID, Int64) -> Bool) -> Int64? {
        while first < members.count {
            if isPresent(members[first].id, members[first].ticket) { return members[first].ticket }
            first += 1
        }
        compact()
        return nil
    }

    mutating func removeHead() -> UploadID {
        defer {
            first += 1
            compact()
        }
        return members[first].id
    }

    private mutating func compact() {
        guard first > 32, first * 2 > members.count else { return }
        members.removeFirst(first)
        first = 0
    }
}
