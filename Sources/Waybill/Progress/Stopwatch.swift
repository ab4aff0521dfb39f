/// Measures the time since its creation with any clock.
package struct Stopwatch: Sendable {
    // A duration and not an instant of `ContinuousClock`, whose size is known only at run time: every copy and release of
    // a value that contains one would go through its witness table.
    private let start: Duration
    /// Returns the elapsed time of a clock other than `ContinuousClock`.
    private let other: (@Sendable () -> Duration)?

    /// Starts the measurement.
    package init(_ clock: any Clock<Duration>) {
        start = Self.now
        // `ContinuousClock` is called directly. Calls through the protocol use witness tables, and an upload reads the
        // time about six times.
        other = type(of: clock) == ContinuousClock.self ? nil : Self.elapsed(by: clock)
    }

    /// The time since the start.
    package var elapsed: Duration { other?() ?? Self.now - start }

    private static var now: Duration { origin.duration(to: .now) }
    private static let origin = ContinuousClock.now

    private static func elapsed<C: Clock<Duration>>(by clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
