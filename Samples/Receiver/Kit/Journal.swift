/// The latest uploads, and the open pages that watch them.
///
/// A watcher is only notified of changes and fetches them when it can write. A slow watcher therefore gets the latest
/// state of each upload, uses constant memory and misses no final state.
actor Journal {
    /// The path and the client's name of a stored file.
    struct FileReference: Sendable {
        let path: String
        let fileName: String
    }

    /// The subscription of a watcher. It is notified of changes, and periodically to detect dead connections.
    struct Watch: Sendable {
        let id: Int
        let notifications: AsyncStream<Void>
    }

    private struct Watcher {
        var changes: Set<String> = []
        let notify: AsyncStream<Void>.Continuation
    }

    private var arrivals: [Arrival] = []
    private var files: [String: [FileReference]] = [:]
    private var watchers: [Int: Watcher] = [:]
    private var lastWatcher = 0
    private var waiting: [AsyncStream<Void>.Continuation] = []

    /// The number of uploads listed; files of older ones stay on the disk.
    static let maxArrivals = 50
    /// The largest number of concurrent watchers.
    static let maxWatchers = 32
    private static let heartbeat = Duration.seconds(15)

    /// Adds or updates an upload.
    func put(_ arrival: Arrival, _ paths: [FileReference] = []) {
        if let index = arrivals.lastIndex(where: { $0.id == arrival.id }) {
            arrivals[index] = arrival
        } else if arrival.state == .arriving {
            arrivals.append(arrival)
            removeOldest()
        } else {
            return
        }
        if !paths.isEmpty { files[arrival.id] = paths }
        for id in watchers.keys {
            watchers[id]?.changes.insert(arrival.id)
            watchers[id]?.notify.yield()
        }
    }

    /// The listed uploads, the oldest first.
    var all: [Arrival] { arrivals }

    /// Returns a stored file of a listed upload.
    func file(_ index: Int, of id: String) -> FileReference? {
        guard let files = files[id], files.indices.contains(index) else { return nil }
        return files[index]
    }

    /// Adds a watcher; returns `nil` if there are too many. It is removed when its stream is deallocated.
    func watch() -> Watch? {
        guard watchers.count < Self.maxWatchers else { return nil }
        lastWatcher += 1
        let id = lastWatcher
        let (notifications, notify) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let heartbeats = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.heartbeat)
                notify.yield()
            }
        }
        notify.onTermination = { [weak self] _ in
            heartbeats.cancel()
            Task { [weak self] in await self?.remove(watcher: id) }
        }
        watchers[id] = Watcher(notify: notify)
        for waiter in waiting { waiter.finish() }
        waiting = []
        return Watch(id: id, notifications: notifications)
    }

    /// Returns the changes that a watcher has not fetched, the oldest upload first.
    func changes(for watcher: Int) -> [Arrival] {
        guard let changes = watchers[watcher]?.changes else { return [] }
        watchers[watcher]?.changes = []
        return arrivals.filter { changes.contains($0.id) }
    }

    /// The number of watchers.
    var watcherCount: Int { watchers.count }

    /// Returns when there is a watcher or the task is cancelled.
    func waitForWatcher() async {
        guard watchers.isEmpty else { return }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        waiting.append(end)
        for await _ in ends {}
    }

    private func remove(watcher: Int) { watchers[watcher] = nil }

    private func removeOldest() {
        while arrivals.count > Self.maxArrivals {
            // Remove finished uploads first.
            let index = arrivals.firstIndex { $0.state != .arriving } ?? 0
            files[arrivals[index].id] = nil
            arrivals.remove(at: index)
        }
    }
}
