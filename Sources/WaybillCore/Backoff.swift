/// Exponential backoff: a delay that doubles with each consecutive failure, up to a maximum.
package struct Backoff: Sendable, Hashable {
    private let base: Duration
    private let maximum: Duration

    /// Creates a backoff that starts at `base` and grows to `maximum`.
    package init(from base: Duration, to maximum: Duration) {
        self.base = base
        self.maximum = maximum
    }

    /// Returns the delay after the given number of consecutive failures, counted from 1.
    package func delay(after failures: Int) -> Duration {
        let doublings = min(max(failures, 1) - 1, 30)
        // Compare before multiplying: a base of years would overflow.
        return base >= maximum / (1 << doublings) ? maximum : base * (1 << doublings)
    }

    /// Returns a random delay between zero and ``delay(after:)`` (*full jitter*). `jitter` is a random number in 0...1.
    package func delay(after failures: Int, jitter: Double) -> Duration {
        max(.zero, delay(after: failures)) * min(max(jitter, 0), 1)
    }
}
