/// What arrived lately, and who is looking.
///
/// A watcher is told *that* there is news and fetches it when it can write: one that is slow gets the latest state of
/// each upload and costs no memory beyond it, and none misses an end.
actor Journal {
    /// Where a stored file is.
    struct Kept: Sendable {
        let path: String
        let fileName: String
    }

    /// A watcher's side: wakes it when there is news, or at times just so, that a dead connection is noticed.
    struct Watch: Sendable {
        let id: Int
        let wakes: AsyncStream<Void>
    }

    private struct Watcher {
        var news: Set<String> = []
        let wake: AsyncStream<Void>.Continuation
    }

    private var arrivals: [Arrival] = []
    private var kept: [String: [Kept]] = [:]
    private var watchers: [Int: Watcher] = [:]
    private var watchersMade = 0
    private var waiting: [AsyncStream<Void>.Continuation] = []

    /// How many uploads are remembered; older ones stay on the disk.
    static let most = 50
    /// How many pages may look at a time.
    static let mostWatchers = 32
    private static let beat = Duration.seconds(15)

    /// Notes a new upload, or what became of one.
    func put(_ arrival: Arrival, _ paths: [Kept] = []) {
        if let index = arrivals.lastIndex(where: { $0.id == arrival.id }) {
            arrivals[index] = arrival
        } else if arrival.state == .arriving {
            arrivals.append(arrival)
            forgetOldest()
        } else {
            return
        }
        if !paths.isEmpty { kept[arrival.id] = paths }
        for id in watchers.keys {
            watchers[id]?.news.insert(arrival.id)
            watchers[id]?.wake.yield()
        }
    }

    /// What is remembered, the oldest first.
    var all: [Arrival] { arrivals }

    /// A stored file of an upload that is remembered.
    func file(_ index: Int, of id: String) -> Kept? {
        guard let files = kept[id], files.indices.contains(index) else { return nil }
        return files[index]
    }

    /// Lets somebody look; `nil` when too many do already. Dropping the stream ends it.
    func watch() -> Watch? {
        guard watchers.count < Self.mostWatchers else { return nil }
        watchersMade += 1
        let id = watchersMade
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let beats = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.beat)
                wake.yield()
            }
        }
        wake.onTermination = { [weak self] _ in
            beats.cancel()
            Task { [weak self] in await self?.forget(watcher: id) }
        }
        watchers[id] = Watcher(wake: wake)
        for waiter in waiting { waiter.finish() }
        waiting = []
        return Watch(id: id, wakes: wakes)
    }

    /// What a watcher has not seen yet, the oldest upload first.
    func news(for watcher: Int) -> [Arrival] {
        guard let news = watchers[watcher]?.news else { return [] }
        watchers[watcher]?.news = []
        return arrivals.filter { news.contains($0.id) }
    }

    /// How many are looking.
    var watcherCount: Int { watchers.count }

    /// Returns when somebody looks, or the task is cancelled.
    func waitForWatcher() async {
        guard watchers.isEmpty else { return }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        waiting.append(end)
        for await _ in ends {}
    }

    private func forget(watcher: Int) { watchers[watcher] = nil }

    private func forgetOldest() {
        while arrivals.count > Self.most {
            // One that still arrives is no older news than one that is over.
            let index = arrivals.firstIndex { $0.state != .arriving } ?? 0
            kept[arrivals[index].id] = nil
            arrivals.remove(at: index)
        }
    }
}
