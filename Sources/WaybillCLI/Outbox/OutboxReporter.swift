import WaybillCore
import Waybill
import WaybillOutbox

/// Reports the progress of an outbox and the result of each item, once and in order.
final class OutboxReporter: Sendable {
    private struct State {
        var seen: Int64
        var summary = OutboxSummary()
        var latest: OutboxProgress?
        var pace: Pace
        /// The JSON output, or `nil` after it could not be written: deliveries continue, and ended items are reported
        /// on standard error.
        var jsonOutput: JSONOutput?
        var blocked: [String: String] = [:]
        /// The tally of the last line. If it has not changed, no line is printed.
        var reported: OutboxTally?
    }

    /// The tally at the start.
    let base: OutboxTally
    private let outbox: Outbox
    private let batch: String?
    private let console: Console
    private let isJSON: Bool
    private let isSilent: Bool
    private let start = ContinuousClock.now
    private let retries: OutboxRetries
    private let state: Locked<State>

    init(
        _ outbox: Outbox, batch: String?, console: Console, json: JSONOutput?, output: OutboxOutputOptions
    ) async throws(CommandFailure) {
        let interval = try output.progress.interval(isJSON: json != nil)
        // A batch is reported from its first item, even if the watch starts later.
        let (seen, base) = try await mappingOutboxErrors { () async throws(OutboxError) in
            batch == nil
                ? (try await outbox.lastSequence(), try await outbox.tally()) : (0, OutboxTally())
        }
        (self.outbox, self.batch, self.base, self.console) = (outbox, batch, base, console)
        (isJSON, isSilent) = (json != nil, output.silent)
        retries = OutboxRetries(outbox, batch: batch)
        let pace =
            if json != nil { Pace(every: interval, showsChanges: false, startingAt: nil) } else {
                Pace(every: console.canRedraw ? .zero : interval, showsChanges: false, startingAt: .zero)
            }
        state = Locked(State(seen: seen, pace: pace, jsonOutput: json))
    }

    /// Reports until the task is cancelled or, with `untilFinished`, until all items have ended.
    func follow(untilFinished: Bool = false) async {
        // Snapshots are read no more often than they are shown.
        let interval: Duration = isJSON ? .seconds(1) : console.canRedraw ? .milliseconds(500) : .seconds(2)
        await Ticker.run(since: start, tick) {
            // A worker continues after an outage of a shared store, and so does its report.
            while await follow(every: interval, untilFinished), (try? await Task.sleep(for: Self.retryDelay)) != nil {}
        }
    }

    private static let retryDelay = Duration.seconds(1)

    /// Reports until there is an error.
    ///
    /// - Returns: Whether to continue later, because the shared store of a worker could not be reached.
    private func follow(every interval: Duration, _ untilFinished: Bool) async -> Bool {
        do {
            for try await progress in outbox.progress(batch: batch, every: interval) {
                update(progress)
                try await catchUp()
                if !isSilent {
                    for wait in try await retries.newRetries(progress.tally) { report(wait.id, wait.retry) }
                }
                if untilFinished, progress.isFinished { break }
            }
        } catch {
            // The command reports the error of the outbox when it ends.
            let failure = (error as? OutboxError).map { CommandFailure($0) } ?? error as? CommandFailure
            return !untilFinished && failure?.exit == .queued
        }
        return false
    }

    private func update(_ progress: OutboxProgress) {
        let newlyBlocked = state.withLock { state in
            defer { state.blocked = progress.blockedLanes }
            state.latest = progress
            return progress.blockedLanes.filter { state.blocked[$0.key] == nil }
        }
        guard !isSilent, !isJSON else { return }
        for (lane, reason) in newlyBlocked.sorted(by: { $0.key < $1.key }) {
            console.line("\(lane) is blocked: \(reason)")
        }
    }

    @Sendable private func tick(at time: Duration) {
        let (due, jsonOutput) = state.withLock { state -> (OutboxProgress?, JSONOutput?) in
            let isBar = console.canRedraw && !isJSON
            guard let progress = state.latest,
                isBar || !progress.running.isEmpty || progress.tally != state.reported,
                state.pace.isDue(at: time)
            else { return (nil, nil) }
            state.reported = progress.tally
            return (progress, state.jsonOutput)
        }
        guard let due else { return }
        if isJSON {
            // If standard output can't be written, deliveries continue, and the exit status reports the error.
            try? jsonOutput?.write("progress", JSONObject(due))
        } else if !isSilent {
            if console.canRedraw {
                let (columns, rows) = (Terminal.columns, Terminal.rows)
                let lines = InFlightRows.lines(
                    due.running.map { TransferRow("item \($0.id)", done: $0.acknowledged, of: $0.total) },
                    columns: columns,
                    rows: rows)
                console.bars(lines + [ProgressLine(due, since: base).bar(columns: columns)])
            } else {
                console.line(ProgressLine(due, since: base).plain)
            }
        }
    }

    /// Reports that an item waits for its next attempt.
    private func report(_ id: OutboxID, _ retry: UploadRetry) {
        guard isJSON else { return console.line("\(id): \(RetryText.text(retry))") }
        try? state.withLock { $0.jsonOutput }?.write(
            "retry", ["id": id] + JSONObject(retry))
    }

    /// Reports ended items that were not reported yet.
    func catchUp() async throws(CommandFailure) {
        while true {
            let seen = state.withLock { $0.seen }
            let page = try await mappingOutboxErrors { () async throws(OutboxError) in
                try await outbox.results(after: seen)
            }
            for result in page {
                let isNew = state.withLock { state in
                    guard result.sequence > state.seen else { return false }
                    state.seen = result.sequence
                    return true
                }
                if isNew, batch == nil || result.item.batch == batch { report(result) }
            }
            if page.isEmpty { return }
        }
    }

    /// Announces that the run waits for running uploads to end.
    func reportDrain(_ drainTimeout: Duration) {
        guard !isSilent, !isJSON, outbox.isSending else { return }
        console.line(
            "stopping: running uploads have \(drainTimeout.components.seconds) s to finish; "
                + "a second signal stops immediately")
    }

    func endBar() { console.bar("") }

    /// Returns the summary of all reported items and the remaining ones.
    func summary(_ end: OutboxEnd) -> OutboxSummary {
        var summary = state.withLock { $0.summary }
        summary.end = end
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return summary
    }

    private func report(_ result: OutboxResult) {
        let jsonOutput = state.withLock { state in
            state.summary.add(result.item)
            return state.jsonOutput
        }
        if let jsonOutput {
            do throws(CommandFailure) {
                try jsonOutput.write("item", JSONObject(result), response: .response(of: result))
            } catch {
                state.withLock { $0.jsonOutput = nil }
                console.failure(error.message)
            }
        }
        let line = OutboxText.line(result)
        switch Exit(result.item) {
        case .done: if !isSilent, !isJSON { console.line(line) }
        default: console.failure(line)
        }
    }
}
