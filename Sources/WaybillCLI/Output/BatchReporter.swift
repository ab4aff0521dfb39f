import Waybill

/// Shows how many uploads come along together: a bar on a terminal with a line above it for each that is on its way, a line
/// a minute elsewhere, or JSON once a second.
final class BatchReporter: Sendable {
    /// What is shown.
    enum Style: Sendable {
        case bar
        case lines
        case json(JSONOutput)
        case nothing
    }

    private struct State {
        var latest: UploadBatchProgress?
        var pace: Pace
    }

    private let console: Console
    private let style: Style
    private let flights: @Sendable () -> [Flight]
    private let state: Locked<State>

    /// `flights` tells what is on its way.
    init(_ style: Style, console: Console, flights: @escaping @Sendable () -> [Flight]) {
        (self.style, self.console, self.flights) = (style, console, flights)
        let pace =
            switch style {
            case .bar: Pace(every: .zero, showsChanges: false, startingAt: nil)
            case .lines, .nothing: Pace(every: .seconds(60), showsChanges: false, startingAt: .zero)
            case .json: Pace(every: .seconds(1), showsChanges: false, startingAt: nil)
            }
        state = Locked(State(pace: pace))
    }

    /// A new snapshot.
    func update(_ progress: UploadBatchProgress) {
        state.withLock { $0.latest = progress }
    }

    /// A fifth of a second has passed; it is so long after the start.
    func tick(at time: Duration) {
        let due = state.withLock { state -> UploadBatchProgress? in
            guard let progress = state.latest, !progress.isFinished, state.pace.isDue(at: time) else { return nil }
            return progress
        }
        guard let due else { return }
        switch style {
        case .bar:
            let (columns, rows) = (Terminal.columns, Terminal.rows)
            let lines = FlightLines.texts(flights(), columns: columns, rows: rows)
            console.bars(lines + [BatchLine.text(due, columns: columns)])
        case .lines: console.line(BatchLine.plain(due))
        // Nobody reads any more: the uploads go on all the same, and the exit status says so.
        case .json(let json): try? json.write("progress", BatchLine.members(of: due))
        case .nothing: break
        }
    }

    /// Nothing more is to be shown.
    func end() { console.bar("") }
}
