import WaybillCore

/// A clock that stands still until a test moves it, so that waits between attempts take no time.
///
/// Give it to a session, and its retries wait on it; give it to the steps of a ``TransferScript``, and a slow peer takes
/// bytes by it. A test that waits an hour of it is over in a millisecond, and is never late by chance.
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
/// Wait for the sleepers first: a clock that is moved before anybody sleeps on it wakes nobody.
public final class ManualClock: Clock, Sendable {
    /// A moment: the time since the clock was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// The moment at a distance from the clock's beginning.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// A later moment.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from here to another moment.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Compares by time.
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

    /// A clock at zero.
    public init() {}

    /// The moment it shows.
    public var now: Instant { state.value.now }
    /// It is exact.
    public var minimumResolution: Duration { .zero }

    /// Waits until the clock was moved to the deadline.
    ///
    /// - Throws: `CancellationError` when the task was cancelled first.
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

    /// Moves the clock and wakes who is due, the earliest first.
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

    /// How long each of the sleepers has still to wait, the shortest first.
    public var pendingSleeps: [Duration] {
        let state = state.value
        return state.sleepers.values.map { state.now.duration(to: $0.deadline) }.sorted()
    }

    /// Waits until so many tasks sleep on this clock; returns early when the task is cancelled.
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
            // The handler may run before the task falls asleep.
            if sleeper == nil { state.cancelled.insert(key) }
            return sleeper
        }
        sleeper?.continuation.resume(returning: false)
    }
}
