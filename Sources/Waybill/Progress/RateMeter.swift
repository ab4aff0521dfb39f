/// A smoothed rate in bytes per second: first the mean since the attempt began, then a moving average with the
/// given time constant, by default two seconds.
///
/// The first interval is the least typical one, because the kernel accepts the first bytes immediately. Its weight must
/// therefore not exceed its duration.
package struct RateMeter: Sendable {
    private let timeConstant: Double
    /// Shorter intervals are added to the next one. Over a few microseconds, the rate would be arbitrary.
    private static let minInterval = 0.02

    private var attempt = 0
    private var start: Duration = .zero
    private var lastTime: Duration?
    private var lastCount: Int64 = 0
    /// The rate after the last sample.
    package private(set) var bytesPerSecond: Double = 0

    package init(timeConstant: Double = 2) { self.timeConstant = timeConstant }

    /// Adds a sample: the number of acknowledged bytes at a time.
    package mutating func add(acknowledged: Int64, attempt: Int, at time: Duration) {
        guard let before = lastTime, attempt == self.attempt, acknowledged >= lastCount else {
            self = RateMeter(timeConstant: timeConstant)
            self.attempt = attempt
            start = time
            lastTime = time
            lastCount = acknowledged
            return
        }
        let seconds = (time - before) / .seconds(1)
        guard seconds >= Self.minInterval else { return }
        let now = Double(acknowledged - lastCount) / seconds
        let elapsed = (time - start) / .seconds(1)
        let weight = seconds / min(elapsed, timeConstant + seconds)
        bytesPerSecond += weight * (now - bytesPerSecond)
        lastTime = time
        lastCount = acknowledged
    }
}
