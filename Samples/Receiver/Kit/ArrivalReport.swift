/// Tells the journal of one upload as it goes on.
struct ArrivalReport {
    private let journal: Journal
    private var arrival: Arrival
    private var meter = ArrivalMeter()
    private var filesTold = 0
    private let began = ContinuousClock.now

    init(to journal: Journal, agent: String, total: Int?) async {
        self.journal = journal
        arrival = Arrival(agent: agent, total: total)
        await journal.put(arrival)
    }

    var received: Int { meter.received }

    /// Whether more of the body is waited for: an upload that ends now was not refused, its client is gone.
    var isWaiting = false

    /// Some of the body has come and was parsed.
    mutating func received(_ count: Int, _ intake: FormIntake) async {
        let isDue = meter.add(count, at: .now - began)
        // A file's name is news at once, whatever the pace.
        guard isDue || intake.files.count > filesTold else { return }
        filesTold = intake.files.count
        arrival.received = meter.received
        arrival.bytesPerSecond = meter.bytesPerSecond
        arrival.take(intake)
        await journal.put(arrival)
    }

    /// All is stored.
    mutating func stored(_ intake: FormIntake) async {
        arrival.take(intake)
        await end(.stored, paths: intake.files.map { Journal.Kept(path: $0.path, fileName: $0.fileName) })
    }

    /// Nothing is kept, for a reason.
    mutating func refused(_ reason: String) async {
        arrival.message = Excerpt.of(reason)
        await end(isWaiting ? .broken : .refused)
    }

    private mutating func end(_ state: Arrival.State, paths: [Journal.Kept] = []) async {
        let time = (.now - began) / .milliseconds(1)
        arrival.state = state
        arrival.received = meter.received
        arrival.milliseconds = Int(time)
        arrival.bytesPerSecond = time > 0 ? Int(Double(meter.received) / time * 1_000) : 0
        await journal.put(arrival, paths)
    }
}
