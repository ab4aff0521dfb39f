/// Detects that the engine's loop runs without making progress, and makes it pause.
///
/// While HTTP/2 flow control blocks a body, libcurl 7.88 waits until the socket is writable, which it always is (curl
/// issue 7821). An upload to a slow server would keep one processor busy. The time is a parameter.
struct SpinGuard {
    /// The number of consecutive rounds that may do nothing.
    static let maxIdleRounds = 8
    /// The duration of the pause. The window of a server that reads 1 MiB a second opens less often.
    static let pause = Duration.milliseconds(2)
    /// A round that starts later than this after the previous one has waited for an event.
    private static let quick = pause + .milliseconds(1)

    /// The number of consecutive pauses.
    private var pauses = 0
    private var seen = 0
    private var rounds = 0
    private var last: ContinuousClock.Instant?

    /// Updates the state; called once per round.
    ///
    /// - Parameters:
    ///   - callbacks: The total number of libcurl's callbacks so far.
    ///   - now: The current time.
    /// - Returns: Whether to pause before the next round.
    mutating func isSpinning(callbacks: Int, now: ContinuousClock.Instant) -> Bool {
        defer { (seen, last) = (callbacks, now) }
        let isQuick = last.map { now - $0 < Self.quick } ?? false
        rounds = isQuick && callbacks == seen ? rounds + 1 : 0
        let isSpinning = rounds >= Self.maxIdleRounds
        pauses = isSpinning ? pauses + 1 : 0
        return isSpinning
    }

    /// Whether input ends the current pause: in most cases, the message that opens the window. Every eighth pause
    /// ignores input, because an idle connection that the server has closed always has some.
    var waitsForInput: Bool { pauses % 8 != 0 }
}
