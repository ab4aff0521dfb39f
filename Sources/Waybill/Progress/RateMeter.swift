/// A smoothed rate in bytes per second: first the mean since the attempt began; after the time `memory`, by default two
/// seconds, a moving average with about that time constant.
///
/// The first interval is the least typical one, because the kernel accepts the first bytes immediately. Its weight must
/// therefore not exceed its duration.
package struct RateMeter: Sendable {
    private let memory: Double
    /// Shorter intervals are added to the next one. Over a few microseconds, the rate would be arbitrary.
    private static let shortest = 0.02

    private var attempt = 0
    private var start: Duration = .zero
    private var lastTime: Duration?
    private var lastCount: Int64 = 0
    /// The rate after the last sample.
    package private(set) var bytesPerSecond: Double = 0

    package init(memory: Double = 2) { self.memory = memory }

    /// Adds a sample: the number of acknowledged bytes at a time.
    package mutating func add(acknowledged: Int64, attempt: Int, at time: Duration) {
        guard let before = lastTime, attempt == self.attempt, acknowledged >= lastCount else {
            self = RateMeter(memory: memory)
            self.attempt = attempt
            start = time
            lastTime = time
            lastCount = acknowledged
            return
        }
        let seconds = (time - before) / .seconds(1)
        guard seconds >= Self.shortest else { return }
        let now = Double(acknowledged - lastCount) / seconds
        let elapsed = (time - start) / .seconds(1)
        let weight = seconds / min(elapsed, memory + seconds)
        bytesPerSecond += weight * (now - bytesPerSecond)
        lastTime = time
        lastCount = acknowledged
    }
}
