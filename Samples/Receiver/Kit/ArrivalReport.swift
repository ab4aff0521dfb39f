/// Reports the progress and the result of one upload to the journal.
struct ArrivalReport {
    private let journal: Journal
    private var arrival: Arrival
    private var meter = ArrivalMeter()
    private var filesReported = 0
    private let began = ContinuousClock.now

    init(to journal: Journal, agent: String, total: Int?) async {
        self.journal = journal
        arrival = Arrival(agent: agent, total: total)
        await journal.put(arrival)
    }

    var received: Int { meter.received }

    /// Whether more of the body is expected: an upload that fails now was interrupted by the client.
    var isWaiting = false

    /// Reports body bytes that were received and parsed.
    mutating func received(_ count: Int, _ intake: FormIntake) async {
        let isDue = meter.add(count, at: .now - began)
        // A new file is reported immediately.
        guard isDue || intake.files.count > filesReported else { return }
        filesReported = intake.files.count
        arrival.received = meter.received
        arrival.bytesPerSecond = meter.bytesPerSecond
        arrival.update(from: intake)
        await journal.put(arrival)
    }

    /// Reports that all files are stored.
    mutating func stored(_ intake: FormIntake) async {
        arrival.update(from: intake)
        await end(.stored, paths: intake.files.map { Journal.FileReference(path: $0.path, fileName: $0.fileName) })
    }

    /// Reports that nothing was stored, with the reason.
    mutating func rejected(_ reason: String) async {
        arrival.message = Excerpt.of(reason)
        await end(isWaiting ? .interrupted : .rejected)
    }

    private mutating func end(_ state: Arrival.State, paths: [Journal.FileReference] = []) async {
        let time = (.now - began) / .milliseconds(1)
        arrival.state = state
        arrival.received = meter.received
        arrival.milliseconds = Int(time)
        arrival.bytesPerSecond = time > 0 ? Int(Double(meter.received) / time * 1_000) : 0
        await journal.put(arrival, paths)
    }
}

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
