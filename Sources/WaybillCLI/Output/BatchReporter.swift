import Waybill

/// Shows how many uploads come along together: a bar on a terminal, a line a minute elsewhere, or JSON once a second.
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
    private let state: Locked<State>

    init(_ style: Style, console: Console) {
        (self.style, self.console) = (style, console)
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
        case .bar: console.bar(BatchLine.text(due, columns: Terminal.columns))
        case .lines: console.line(BatchLine.plain(due))
        // Nobody reads any more: the uploads go on all the same, and the exit status says so.
        case .json(let json): try? json.write("progress", BatchLine.members(of: due))
        case .nothing: break
        }
    }

    /// Nothing more is to be shown.
    func end() { console.bar("") }
}
