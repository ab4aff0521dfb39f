import WaybillCore
import Waybill

/// Shows the progress of many uploads: on a terminal as a bar with a line above it for each running upload, otherwise
/// as periodic lines or JSON.
final class BatchReporter: Sendable {
    /// The options of the output.
    enum Style: Sendable {
        case bar
        case lines(every: Duration?)
        case json(JSONOutput, every: Duration?)
        case nothing

        /// Selects the style for the console and the options.
        init(_ console: Console, _ options: ProgressOptions, json: JSONOutput?, isSilent: Bool) throws(CommandFailure) {
            let interval = try options.interval(isJSON: json != nil)
            if let json {
                self = .json(json, every: interval)
            } else if isSilent {
                self = .nothing
            } else {
                self = console.canRedraw ? .bar : .lines(every: interval)
            }
        }
    }

    private struct State {
        var latest: UploadBatchProgress?
        var pace: Pace
    }

    private let console: Console
    private let style: Style
    private let write: @Sendable (String) -> Void
    private let transfers: @Sendable (Duration) -> [TransferRow]
    private let state: Locked<State>

    /// - Parameters:
    ///   - style: The style of the output.
    ///   - console: The console that shows bars.
    ///   - write: Writes a line. The default writes to the console.
    ///   - transfers: Returns the running transfers at a time since the start.
    init(
        _ style: Style, console: Console, write: (@Sendable (String) -> Void)? = nil,
        transfers: @escaping @Sendable (Duration) -> [TransferRow]
    ) {
        (self.style, self.console, self.transfers) = (style, console, transfers)
        self.write = write ?? { console.line($0) }
        let pace =
            switch style {
            case .bar: Pace(every: .zero, showsChanges: false, startingAt: nil)
            case .lines(let interval): Pace(every: interval, showsChanges: false, startingAt: .zero)
            case .json(_, let interval): Pace(every: interval, showsChanges: false, startingAt: nil)
            case .nothing: Pace(every: nil, showsChanges: false, startingAt: nil)
            }
        state = Locked(State(pace: pace))
    }

    /// Stores a new snapshot.
    func update(_ progress: UploadBatchProgress) {
        state.withLock { $0.latest = progress }
    }

    /// Reports a retry. A bar shows it as part of its progress.
    func retry(_ file: String, _ retry: UploadRetry) {
        switch style {
        case .lines: write("\(file): \(RetryText.text(retry))")
        case .json(let json, _):
            try? json.write("retry", ["file": file] + JSONObject(retry))
        case .bar, .nothing: break
        }
    }

    /// Called every fifth of a second, with the time since the start.
    func tick(at time: Duration) {
        let due = state.withLock { state -> UploadBatchProgress? in
            guard let progress = state.latest, !progress.isFinished, state.pace.isDue(at: time) else { return nil }
            return progress
        }
        guard let due else { return }
        switch style {
        case .bar:
            let (columns, rows) = (Terminal.columns, Terminal.rows)
            let lines = InFlightRows.lines(transfers(time), columns: columns, rows: rows)
            console.bars(lines + [ProgressLine(due).bar(columns: columns)])
        case .lines: write(ProgressLine(due).plain)
        // If standard output can't be written, the uploads continue, and the exit status reports it.
        case .json(let json, _): try? json.write("progress", JSONObject(due))
        case .nothing: break
        }
    }

    /// Removes the bar.
    func end() { console.bar("") }
}
