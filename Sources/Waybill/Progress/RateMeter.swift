/// Bytes per second, smoothed: the mean since the attempt began, and after its memory, of two seconds unless said otherwise, with
/// about that.
///
/// The first stretch is the least typical of all, since the kernel takes the first bytes at once; so it must not count
/// more than its time.
package struct RateMeter: Sendable {
    private let memory: Double
    /// Stretches shorter than this are added to the next one: over a few microseconds any rate comes out.
    private static let shortest = 0.02

    private var attempt = 0
    private var start: Duration = .zero
    private var lastTime: Duration?
    private var lastCount: Int64 = 0
    /// The rate after the last sample.
    package private(set) var bytesPerSecond: Double = 0

    package init(memory: Double = 2) { self.memory = memory }

    /// Takes in how many bytes were acknowledged at a time.
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
