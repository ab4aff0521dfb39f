import WaybillCore

/// Sends the latest snapshot to any number of listeners.
///
/// A snapshot becomes an ``UploadProgress`` with its parts only when a listener takes it; some are replaced before.
///
/// Each listener belongs to one handle of the upload. If a handle is cancelled while others remain, the last snapshot
/// for its listeners has the phase `cancelled`.
final class ProgressBroadcast: Sendable {
    private struct State {
        var snapshot = UploadSnapshot()
        var parts: [BodyPart] = []
        var meter = RateMeter()
        /// The last snapshots of handles that were cancelled separately.
        var cancelledHandles: [Int: MeasuredSnapshot] = [:]
        /// The time at which the wait for a retry began.
        var waitBegan = Duration.zero
        /// Created for the first listener, because most uploads have none. The topic is the handle.
        var listeners: Broadcast<Int, MeasuredSnapshot>?

        var hasListeners: Bool { listeners?.isEmpty == false }
    }

    /// Snapshots are sent under this lock, which keeps their order. Listeners are resumed after it.
    private let state = Locked(State())
    /// Measures the time since the upload was created.
    let stopwatch: Stopwatch

    init(clock: any Clock<Duration>) {
        stopwatch = Stopwatch(clock)
    }

    deinit { state.withLock { $0.listeners }?.close() }

    /// Whether there is a listener.
    var hasListeners: Bool { state.withLock { $0.hasListeners } }

    /// The latest snapshot without rates and parts.
    var snapshot: UploadSnapshot { state.withLock { $0.snapshot } }

    /// Returns the latest full snapshot for a handle.
    func current(for handle: Int) -> UploadProgress {
        let time = stopwatch.elapsed
        return state.withLock { $0.cancelledHandles[handle] ?? Self.measure(&$0, at: time) }.progress
    }

    /// Records that a handle was cancelled while others remain.
    func cancelHandle(_ handle: Int) {
        let time = stopwatch.elapsed
        let wakeups = state.withLock { state -> BroadcastWakeups<MeasuredSnapshot> in
            guard !state.snapshot.phase.isTerminal, state.cancelledHandles[handle] == nil else {
                return BroadcastWakeups()
            }
            var last = Self.measure(&state, at: time)
            last.snapshot.phase = .cancelled
            last.snapshot.isPaused = false
            state.cancelledHandles[handle] = last
            guard let listeners = state.listeners else { return BroadcastWakeups() }
            var wakeups = listeners.send(last, to: handle)
            wakeups += listeners.finish(handle)
            return wakeups
        }
        wakeups.resume()
    }

    /// Sets the parts of the body, once they are known.
    func describe(_ parts: [BodyPart]) {
        state.withLock { $0.parts = parts }
    }

    /// Sends a snapshot to all listeners. A terminal snapshot is the last one.
    func publish(_ snapshot: UploadSnapshot) {
        let waitBegan = snapshot.retry == nil ? Duration.zero : stopwatch.elapsed
        let hasListeners = state.withLock { state in
            if snapshot.retry != nil, state.snapshot.retry == nil { state.waitBegan = waitBegan }
            state.snapshot = snapshot
            return state.hasListeners
        }
        // A listener that is added later begins with this snapshot.
        guard hasListeners else { return }
        let time = stopwatch.elapsed
        let wakeups = state.withLock { state -> BroadcastWakeups<MeasuredSnapshot> in
            guard let listeners = state.listeners else { return BroadcastWakeups() }
            var wakeups = listeners.send(Self.measure(&state, at: time))
            if snapshot.phase.isTerminal { wakeups += listeners.finishAll() }
            return wakeups
        }
        wakeups.resume()
    }

    /// Adds a listener, which begins with the latest snapshot.
    func listen(for handle: Int) -> BroadcastSequence<MeasuredSnapshot> {
        let time = stopwatch.elapsed
        return state.withLock { state in
            let last = state.cancelledHandles[handle]
            let listeners = state.listeners ?? Broadcast()
            state.listeners = listeners
            return listeners.listen(
                to: handle, first: last ?? Self.measure(&state, at: time),
                isLast: last != nil || state.snapshot.phase.isTerminal)
        }
    }

    private static func measure(_ state: inout State, at time: Duration) -> MeasuredSnapshot {
        let now = state.snapshot
        // Time in the queue, in preparation and in waits for a retry is not transfer time.
        let isMeasured = now.phase.isOnWire || now.phase.isTerminal
        if isMeasured { state.meter.add(acknowledged: now.acknowledged, attempt: now.attempt, at: time) }
        return MeasuredSnapshot(
            snapshot: now, parts: state.parts, bytesPerSecond: isMeasured ? state.meter.bytesPerSecond : 0,
            waited: time - state.waitBegan)
    }
}

/// A snapshot with the measurements at its time.
struct MeasuredSnapshot: Sendable {
    var snapshot: UploadSnapshot
    let parts: [BodyPart]
    let bytesPerSecond: Double
    /// The time since the wait for a retry began.
    let waited: Duration

    /// The snapshot as a listener receives it.
    var progress: UploadProgress {
        var retry = snapshot.retry
        retry?.timeLeft = max(.zero, (snapshot.retry?.delay ?? .zero) - waited)
        return UploadProgress(
            phase: snapshot.phase, attempt: snapshot.attempt, sent: snapshot.sent, acknowledged: snapshot.acknowledged,
            total: snapshot.total, accuracy: snapshot.accuracy, bytesPerSecond: bytesPerSecond,
            parts: parts.map { PartProgress($0, acknowledgedOfBody: snapshot.acknowledged) },
            isPaused: snapshot.isPaused, retry: retry, stored: snapshot.stored)
    }
}

extension UploadRun {
    /// Returns the snapshots for a handle.
    func progress(for handle: Int) -> AsyncValues<UploadProgress, Never> {
        AsyncValues { [self] in
            var snapshots = listen(for: handle).makeAsyncIterator()
            return { await snapshots.next(isolation: #isolation)?.progress }
        }
    }
}

extension PartProgress {
    /// Creates the progress of a part from the number of acknowledged bytes of the whole body.
    package init(_ part: BodyPart, acknowledgedOfBody acknowledged: Int64) {
        let length = part.range.upperBound - part.range.lowerBound
        self.init(
            name: part.name, fileName: part.fileName,
            acknowledged: min(max(acknowledged - part.range.lowerBound, 0), length), total: length)
    }
}
