/// Counts what arrives, and says when it is time to tell: often enough for the eye, seldom enough to cost nothing.
struct ArrivalMeter {
    private(set) var received = 0
    /// Bytes of the last second, or of all the time while that is less.
    private(set) var bytesPerSecond = 0

    private var told: Duration?
    private var marks: [(time: Duration, bytes: Int)] = [(.zero, 0)]

    /// The shortest time between two tellings.
    static let pace = Duration.milliseconds(50)
    private static let window = Duration.seconds(1)

    /// Counts bytes.
    ///
    /// - Parameters:
    ///   - bytes: How many came.
    ///   - time: When, since the start.
    /// - Returns: Whether the figures should be told now.
    mutating func add(_ bytes: Int, at time: Duration) -> Bool {
        received += bytes
        if let told, time - told < Self.pace { return false }
        told = time
        marks.append((time, received))
        // The newest mark that is a second old stays, so that there is always a whole second to look back on.
        while marks.count > 2, time - marks[1].time >= Self.window { marks.removeFirst() }
        let seconds = (time - marks[0].time) / .seconds(1)
        if seconds > 0 { bytesPerSecond = Int(Double(received - marks[0].bytes) / seconds) }
        return true
    }
}
