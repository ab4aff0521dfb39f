/// Exponential backoff: a time that doubles with each failure in a row, up to a longest one.
package struct Backoff: Sendable, Hashable {
    private let base: Duration
    private let longest: Duration

    /// A backoff that starts at `base` and grows to `longest`.
    package init(from base: Duration, to longest: Duration) {
        self.base = base
        self.longest = longest
    }

    /// The time after so many failures in a row, from 1.
    package func time(after failures: Int) -> Duration {
        let doublings = min(max(failures, 1) - 1, 30)
        // Compare before the multiplication: a base of years would overflow.
        return base >= longest / (1 << doublings) ? longest : base * (1 << doublings)
    }

    /// A random time between zero and ``time(after:)``: *full jitter*. The random number is in 0...1.
    package func time(after failures: Int, jitter: Double) -> Duration {
        max(.zero, time(after: failures)) * min(max(jitter, 0), 1)
    }
}
