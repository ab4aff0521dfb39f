import WaybillCore
import ArgumentParser
import Waybill

/// Shows the progress of an upload.
protocol ProgressReporter: Sendable {
    /// Reports a new snapshot. `time` is the time since the start.
    func update(_ progress: UploadProgress, at time: Duration)
    /// Called every fifth of a second.
    func tick(at time: Duration)
    /// Stops showing progress.
    func end()
}

/// Decides when output is due that is shown periodically, and immediately when the phase or attempt has changed.
struct Pace: Sendable {
    private let interval: Duration?
    private let showsChanges: Bool
    private var last: Duration?
    private var kind: Kind?

    private struct Kind: Equatable {
        var phase: UploadPhase
        var attempt: Int
    }

    /// Creates a pace. `showsChanges` shows a new phase or attempt immediately. Without an interval, nothing else is
    /// shown.
    init(every interval: Duration?, showsChanges: Bool, startingAt start: Duration?) {
        self.interval = interval
        self.showsChanges = showsChanges
        last = start
    }

    /// Returns whether a snapshot is due now. If so, it counts as shown.
    mutating func isDue(_ progress: UploadProgress, at time: Duration) -> Bool {
        let now = Kind(phase: progress.phase, attempt: progress.attempt)
        let isNew = showsChanges && now != kind
        kind = now
        return isDue(at: time, isNew: isNew)
    }

    /// Returns whether output is due now. If so, it counts as shown.
    mutating func isDue(at time: Duration, isNew: Bool = false) -> Bool {
        let isTime = interval.map { interval in last.map { time - $0 >= interval } ?? true } ?? false
        guard isNew || isTime else { return false }
        last = time
        return true
    }
}

/// Redraws a bar on the terminal, and a line above it for each of several files, five times a second at most.
final class TerminalReporter: ProgressReporter {
    private let console: Console
    private let latest = Locked<(progress: UploadProgress, time: Duration)?>(nil)

    init(_ console: Console) {
        self.console = console
    }

    func update(_ progress: UploadProgress, at time: Duration) {
        latest.withLock { $0 = (progress, time) }
    }

    func tick(at time: Duration) {
        guard let (snapshot, taken) = latest.withLock({ $0 }) else { return }
        var progress = snapshot
        // No snapshot arrives while a retry is pending.
        progress.retry?.timeLeft -= time - taken
        let (columns, rows) = (Terminal.columns, Terminal.rows)
        let lines = InFlightRows.lines(TransferRow.parts(of: progress), columns: columns, rows: rows)
        console.bars(lines + [ProgressLine(progress).bar(columns: columns)])
    }

    func end() { console.bar("") }
}

/// Writes periodic lines where lines can't be redrawn, and one line for each retry.
final class PlainReporter: ProgressReporter {
    private struct State {
        var latest: UploadProgress?
        var pace: Pace
        /// The number of the last written retry.
        var retry = 0
    }

    private let write: @Sendable (String) -> Void
    private let state: Locked<State>

    /// Creates a reporter. Without an interval, only retries are written.
    init(every interval: Duration?, write: @escaping @Sendable (String) -> Void) {
        self.write = write
        state = Locked(State(pace: Pace(every: interval, showsChanges: false, startingAt: .zero)))
    }

    func update(_ progress: UploadProgress, at time: Duration) {
        let isNewRetry = state.withLock { state in
            state.latest = progress
            guard let number = progress.retry?.number, number != state.retry else { return false }
            state.retry = number
            return true
        }
        if isNewRetry { write(ProgressLine(progress).plain) }
    }

    func tick(at time: Duration) {
        let due = state.withLock { state -> UploadProgress? in
            // The wait was already announced with its duration.
            guard let progress = state.latest, progress.phase != .retrying, state.pace.isDue(progress, at: time) else {
                return nil
            }
            return progress
        }
        if let due { write(ProgressLine(due).plain) }
    }

    func end() {}
}

/// Writes a JSON line for every new phase, and periodically while bytes are sent.
final class JSONReporter: ProgressReporter {
    private let output: JSONOutput
    private let pace: Locked<Pace>

    init(_ output: JSONOutput, every interval: Duration?) {
        self.output = output
        pace = Locked(Pace(every: interval, showsChanges: true, startingAt: nil))
    }

    func update(_ progress: UploadProgress, at time: Duration) {
        // The summary reports the end.
        guard !progress.phase.isTerminal, pace.withLock({ $0.isDue(progress, at: time) }) else { return }
        // If standard output can't be written, the upload continues, and the summary reports it.
        try? output.write("progress", JSONObject(progress))
    }

    func tick(at time: Duration) {}
    func end() {}
}

/// Shows nothing.
struct SilentReporter: ProgressReporter {
    func update(_ progress: UploadProgress, at time: Duration) {}
    func tick(at time: Duration) {}
    func end() {}
}

/// Calls a closure five times a second while work runs.
enum Ticker {
    static func run<Value>(
        since start: ContinuousClock.Instant, _ tick: @escaping @Sendable (Duration) -> Void,
        during work: () async -> Value
    ) async -> Value {
        let ticker = Task {
            while true {
                try await Task.sleep(for: .milliseconds(200))
                tick(ContinuousClock.now - start)
            }
        }
        let value = await work()
        ticker.cancel()
        _ = await ticker.result
        return value
    }
}

/// The option for the progress interval where no bar can be drawn.
struct ProgressOptions: ParsableArguments {
    @Option(
        name: .customLong("progress-interval"),
        help: ArgumentHelp(
            "The interval of progress lines without a terminal, or of progress objects with --json: 30s, 5m; 0 for "
                + "none. Default: 1m; 1s with --json.",
            valueName: "time"))
    var interval: String?

    /// Returns the time between two lines, or two objects with `--json`; `nil` for none.
    func interval(isJSON: Bool) throws(CommandFailure) -> Duration? {
        guard let interval else { return isJSON ? .seconds(1) : .seconds(60) }
        return interval == "0" ? nil : try DurationArgument.read(interval, for: "--progress-interval")
    }
}
