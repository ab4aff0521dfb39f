public import WaybillCore

/// Sends the latest snapshot to any number of listeners. Without a listener it makes none.
///
/// Each listens for one handle of the upload. The listeners of a handle that was cancelled while others stayed get its end as
/// their last snapshot.
final class ProgressBroadcast: Sendable {
    private struct State {
        var snapshot = UploadSnapshot()
        var parts: [BodyPart] = []
        var meter = RateMeter()
        /// The last snapshots of handles that were cancelled apart.
        var departed: [Int: UploadProgress] = [:]
        /// When the wait for a retry began.
        var waitBegan = Duration.zero
    }

    private let state = Locked(State())
    /// The topic is the handle. Snapshots are sent under the lock of the state, which keeps their order, and listeners are
    /// resumed after it.
    private let listeners = Broadcast<Int, UploadProgress>()
    /// Runs since the upload was made.
    let stopwatch: Stopwatch

    init(clock: any Clock<Duration>) {
        stopwatch = Stopwatch(clock)
    }

    /// Whether there is a listener.
    var hasListeners: Bool { !listeners.isEmpty }

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
        let wakeups = state.withLock { state -> BroadcastWakeups<UploadProgress> in
            guard !state.snapshot.phase.isTerminal, state.departed[handle] == nil else { return BroadcastWakeups() }
            var last = Self.progress(&state, at: time)
            last.phase = .cancelled
            last.isPaused = false
            state.departed[handle] = last
            var wakeups = listeners.send(last, to: handle)
            wakeups += listeners.finish(handle)
            return wakeups
        }
        wakeups.resume()
    }

    /// The parts of the body, once they are known.
    func describe(_ parts: [BodyPart]) {
        state.withLock { $0.parts = parts }
    }

    /// Sends a snapshot to all listeners; a terminal one is the last.
    func publish(_ snapshot: UploadSnapshot) {
        let waitBegan = snapshot.retry == nil ? Duration.zero : stopwatch.elapsed
        let isHeard = state.withLock { state in
            if snapshot.retry != nil, state.snapshot.retry == nil { state.waitBegan = waitBegan }
            state.snapshot = snapshot
            return hasListeners
        }
        // A later listener begins with this snapshot.
        guard isHeard else { return }
        let time = stopwatch.elapsed
        let wakeups = state.withLock { state -> BroadcastWakeups<UploadProgress> in
            var wakeups = listeners.send(Self.progress(&state, at: time))
            if snapshot.phase.isTerminal { wakeups += listeners.finishAll() }
            return wakeups
        }
        wakeups.resume()
    }

    /// Adds a listener, which begins with the latest snapshot.
    func listen(for handle: Int) -> Listening<UploadProgress> {
        let time = stopwatch.elapsed
        return state.withLock { state in
            let last = state.departed[handle]
            return listeners.listen(
                to: handle, first: last ?? Self.progress(&state, at: time),
                isLast: last != nil || state.snapshot.phase.isTerminal)
        }
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

extension UploadRun {
    /// The snapshots that a handle sees.
    func progress(for handle: Int) -> AsyncValues<UploadProgress, Never> {
        AsyncValues { [self] in
            var snapshots = listen(for: handle).makeAsyncIterator()
            return { await snapshots.next(isolation: #isolation) }
        }
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
