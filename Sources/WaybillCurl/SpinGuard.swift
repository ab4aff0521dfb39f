/// Notices that the engine's loop turns without doing anything, and has it pause.
///
/// While the flow control of HTTP/2 lets no byte of a body leave, libcurl 7.88 waits until the socket can be written to,
/// which it can all the time (curl issue 7821). An upload to a slow server would keep one processor busy. Pure: the clock is
/// handed in.
struct SpinGuard {
    /// How many rounds in a row may do nothing.
    static let patience = 8
    /// How long the engine pauses then. The window of a server that reads 1 MiB a second opens less often.
    static let pause = Duration.milliseconds(2)
    /// A round that comes later than that after the one before has waited for something.
    private static let quick = pause + .milliseconds(1)

    private var seen = 0
    private var rounds = 0
    private var last: ContinuousClock.Instant?

    /// Called once a round.
    ///
    /// - Parameters:
    ///   - callbacks: How often libcurl has called the engine until now.
    ///   - now: The time.
    /// - Returns: Whether to pause before the next round.
    mutating func isSpinning(callbacks: Int, now: ContinuousClock.Instant) -> Bool {
        defer { (seen, last) = (callbacks, now) }
        let isQuick = last.map { now - $0 < Self.quick } ?? false
        rounds = isQuick && callbacks == seen ? rounds + 1 : 0
        return rounds >= Self.patience
    }
}
