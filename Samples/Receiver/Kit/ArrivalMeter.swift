/// Counts received bytes and throttles progress reports.
struct ArrivalMeter {
    private(set) var received = 0
    /// The rate over the last second, or since the start if that is less.
    private(set) var bytesPerSecond = 0

    private var lastReport: Duration?
    private var marks: [(time: Duration, bytes: Int)] = [(.zero, 0)]

    /// The shortest interval between two reports.
    static let interval = Duration.milliseconds(50)
    private static let window = Duration.seconds(1)

    /// Counts bytes.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes received.
    ///   - time: The time since the start.
    /// - Returns: Whether progress should be reported now.
    mutating func add(_ bytes: Int, at time: Duration) -> Bool {
        received += bytes
        if let lastReport, time - lastReport < Self.interval { return false }
        lastReport = time
        marks.append((time, received))
        // Keep the newest mark that is at least a second old, so that the window covers a whole second.
        while marks.count > 2, time - marks[1].time >= Self.window { marks.removeFirst() }
        let seconds = (time - marks[0].time) / .seconds(1)
        if seconds > 0 { bytesPerSecond = Int(Double(received - marks[0].bytes) / seconds) }
        return true
    }
}
