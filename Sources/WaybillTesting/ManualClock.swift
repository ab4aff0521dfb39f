import WaybillCore

/// A clock that advances only when a test advances it, so that waits between attempts take no time.
///
/// Set it as the clock of a session, and its retries wait on it; use it in the steps of a ``TransferScript``, and a
/// slow peer receives bytes by it. A test that waits for an hour on this clock takes a millisecond and does not depend on
/// timing.
///
/// ```swift
/// let clock = ManualClock()
/// var configuration = UploadSession.Configuration()
/// configuration.clock = clock
/// // … the first attempt fails …
/// await clock.sleepers(atLeast: 1)        // the retry is scheduled
/// clock.advance(by: .seconds(60))         // and due
/// ```
///
/// Wait for the sleepers first: advancing the clock before a task sleeps on it wakes no task.
public final class ManualClock: Clock, Sendable {
    /// An instant, given as the time since the clock was created.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public var offset: Duration

        /// Creates an instant at an offset from the creation of the clock.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// Returns a later instant.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Returns the duration from this instant to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Compares instants by time.
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var nextKey = 0
    }

    private let state = Observed(State())

    /// Creates a clock at zero.
    public init() {}

    /// The current instant.
    public var now: Instant { state.value.now }
    /// Zero: the clock is exact.
    public var minimumResolution: Duration { .zero }

    /// Sleeps until the clock has advanced to the deadline.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let key = state.update { state in
            state.nextKey += 1
            return state.nextKey
        }
        let isDue = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                fallAsleep(key, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(key)
        }
        guard isDue else { throw CancellationError() }
    }

    /// Advances the clock and wakes all sleepers whose deadline has passed, earliest first.
    public func advance(by duration: Duration) {
        let due = state.update { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let keys = state.sleepers.filter { $0.value.deadline <= now }
                .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.key)
            return keys.compactMap { state.sleepers.removeValue(forKey: $0)?.continuation }
        }
        for continuation in due { continuation.resume(returning: true) }
    }

    /// The remaining durations of all sleepers, shortest first.
    public var pendingSleeps: [Duration] {
        let state = state.value
        return state.sleepers.values.map { state.now.duration(to: $0.deadline) }.sorted()
    }

    /// Waits until the given number of tasks sleeps on this clock; returns early if the task is cancelled.
    public func sleepers(atLeast count: Int) async {
        await state.wait { $0.sleepers.count >= count }
    }

    private func fallAsleep(_ key: Int, _ sleeper: Sleeper) {
        let answer: Bool? = state.update { state in
            if state.cancelled.remove(key) != nil { return false }
            if sleeper.deadline <= state.now { return true }
            state.sleepers[key] = sleeper
            return nil
        }
        if let answer { sleeper.continuation.resume(returning: answer) }
    }

    private func cancel(_ key: Int) {
        let sleeper = state.update { state in
            let sleeper = state.sleepers.removeValue(forKey: key)
            // The handler may run before the task sleeps.
            if sleeper == nil { state.cancelled.insert(key) }
            return sleeper
        }
        sleeper?.continuation.resume(returning: false)
    }
}
