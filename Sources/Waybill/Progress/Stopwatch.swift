/// Measures the time since its creation with any clock.
package struct Stopwatch: Sendable {
    private let start: ContinuousClock.Instant
    /// Returns the elapsed time of a clock other than `ContinuousClock`.
    private let other: (@Sendable () -> Duration)?

    /// Starts the measurement.
    package init(_ clock: any Clock<Duration>) {
        start = .now
        // `ContinuousClock` is called directly. Calls through the protocol use witness tables, and an upload reads the
        // time about six times.
        other = type(of: clock) == ContinuousClock.self ? nil : Self.elapsed(by: clock)
    }

    /// The time since the start.
    package var elapsed: Duration { other?() ?? ContinuousClock.now - start }

    private static func elapsed<C: Clock<Duration>>(by clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
