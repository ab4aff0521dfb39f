import WaybillCore

/// Tells any number of listeners the latest snapshot. With no listener it costs one look at a counter.
///
/// Each listens for one handle of the upload. One that was cancelled while others stayed hears of its own end and of nothing
/// after it.
final class ProgressBroadcast: Sendable {
    private struct State {
        var snapshot = UploadSnapshot()
        var parts: [BodyPart] = []
        var meter = RateMeter()
        var listeners: [Int: Listener] = [:]
        /// The last snapshots of handles that were cancelled apart.
        var departed: [Int: UploadProgress] = [:]
        var nextKey = 0
        /// When the wait for a retry began.
        var waitBegan = Duration.zero
    }

    private struct Listener {
        let handle: Int
        let stream: AsyncStream<UploadProgress>.Continuation
    }

    private let state = Locked(State())
    /// Runs since the upload was made.
    let stopwatch: Stopwatch

    init(clock: any Clock<Duration>) {
        stopwatch = Stopwatch(clock)
    }

    /// Whether anybody listens.
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// The latest position.
    var snapshot: UploadSnapshot { state.withLock { $0.snapshot } }

    /// The latest position, in full, as a handle sees it.
    func current(for handle: Int) -> UploadProgress {
        let time = stopwatch.elapsed
        return state.withLock { $0.departed[handle] ?? Self.progress(&$0, at: time) }
    }

    /// A handle was cancelled, and the others go on.
    func depart(_ handle: Int) {
        let time = stopwatch.elapsed
        let leaving = state.withLock { state -> [Listener] in
            guard !state.snapshot.phase.isTerminal, state.departed[handle] == nil else { return [] }
            var last = Self.progress(&state, at: time)
            last.phase = .cancelled
            last.isPaused = false
            state.departed[handle] = last
            let keys = state.listeners.filter { $0.value.handle == handle }.keys
            for key in keys { state.listeners[key]?.stream.yield(last) }
            return keys.compactMap { state.listeners.removeValue(forKey: $0) }
        }
        for listener in leaving { listener.stream.finish() }
    }

    /// The parts of the body, once they are known.
    func describe(_ parts: [BodyPart]) {
        state.withLock { $0.parts = parts }
    }

    /// Tells all listeners; a terminal snapshot is the last.
    func publish(_ snapshot: UploadSnapshot) {
        let waitBegan = snapshot.retry == nil ? Duration.zero : stopwatch.elapsed
        let isHeard = state.withLock { state in
            if snapshot.retry != nil, state.snapshot.retry == nil { state.waitBegan = waitBegan }
            state.snapshot = snapshot
            return !state.listeners.isEmpty
        }
        // Who comes to listen from now on begins with this snapshot.
        guard isHeard else { return }
        let time = stopwatch.elapsed
        let leaving = state.withLock { state -> [Listener] in
            let progress = Self.progress(&state, at: time)
            for listener in state.listeners.values { listener.stream.yield(progress) }
            guard snapshot.phase.isTerminal else { return [] }
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        // Outside the lock: finishing calls the termination handler, which takes it.
        for listener in leaving { listener.stream.finish() }
    }

    /// A new listener. It has the latest snapshot at once.
    func listen(for handle: Int) -> AsyncStream<UploadProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: UploadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let time = stopwatch.elapsed
        let key = state.withLock { state -> Int? in
            let last = state.departed[handle]
            continuation.yield(last ?? Self.progress(&state, at: time))
            guard last == nil, !state.snapshot.phase.isTerminal else { return nil }
            state.nextKey += 1
            state.listeners[state.nextKey] = Listener(handle: handle, stream: continuation)
            return state.nextKey
        }
        if let key {
            continuation.onTermination = { [weak self] _ in
                self?.remove(key)
            }
        } else {
            continuation.finish()
        }
        return stream
    }

    private func remove(_ key: Int) {
        // The continuation is destroyed after the lock is free.
        _ = state.withLock { $0.listeners.removeValue(forKey: key) }
    }

    private static func progress(_ state: inout State, at time: Duration) -> UploadProgress {
        let now = state.snapshot
        // Time in line, of preparation and of waits for a retry is no time of transfer.
        if now.phase.isOnWire || now.phase.isTerminal {
            state.meter.add(acknowledged: now.acknowledged, attempt: now.attempt, at: time)
        }
        var retry = now.retry
        retry?.timeLeft = max(.zero, (now.retry?.delay ?? .zero) - (time - state.waitBegan))
        return UploadProgress(
            phase: now.phase, attempt: now.attempt, sent: now.sent, acknowledged: now.acknowledged, total: now.total,
            accuracy: now.accuracy,
            bytesPerSecond: now.phase.isOnWire || now.phase.isTerminal ? state.meter.bytesPerSecond : 0,
            parts: state.parts.map { PartProgress($0, acknowledgedOfBody: now.acknowledged) },
            isPaused: now.isPaused, retry: retry)
    }
}

extension PartProgress {
    /// How far a part has come when so many bytes of the whole body are acknowledged.
    package init(_ part: BodyPart, acknowledgedOfBody acknowledged: Int64) {
        let length = part.range.upperBound - part.range.lowerBound
        self.init(
            name: part.name, fileName: part.fileName,
            acknowledged: min(max(acknowledged - part.range.lowerBound, 0), length), total: length)
    }
}
