/// The time since it was made, by a clock of any kind.
package struct Stopwatch: Sendable {
    private let start: ContinuousClock.Instant
    /// How another clock than the usual one tells.
    private let other: (@Sendable () -> Duration)?

    /// Starts.
    package init(_ clock: any Clock<Duration>) {
        start = .now
        // The usual one is asked by its own name. Through the protocol every look would go by its witnesses, and an upload
        // has half a dozen.
        other = type(of: clock) == ContinuousClock.self ? nil : Self.elapsed(by: clock)
    }

    /// How long it has run.
    package var elapsed: Duration { other?() ?? ContinuousClock.now - start }

    private static func elapsed<C: Clock<Duration>>(by clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
