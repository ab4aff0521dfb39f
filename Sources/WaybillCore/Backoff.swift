/// Exponential backoff: a delay that doubles with each consecutive failure, up to a maximum.
package struct Backoff: Sendable, Hashable {
    private let base: Duration
    private let longest: Duration

    /// Creates a backoff that starts at `base` and grows to `longest`.
    package init(from base: Duration, to longest: Duration) {
        self.base = base
        self.longest = longest
    }

    /// Returns the delay after the given number of consecutive failures, counted from 1.
    package func time(after failures: Int) -> Duration {
        let doublings = min(max(failures, 1) - 1, 30)
        // Compare before multiplying: a base of years would overflow.
        return base >= longest / (1 << doublings) ? longest : base * (1 << doublings)
    }

    /// Returns a random delay between zero and ``time(after:)`` (*full jitter*). `jitter` is a random number in 0...1.
    package func time(after failures: Int, jitter: Double) -> Duration {
        max(.zero, time(after: failures)) * min(max(jitter, 0), 1)
    }
}
