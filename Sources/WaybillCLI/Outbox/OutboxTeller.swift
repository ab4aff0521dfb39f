import Waybill
import WaybillOutbox

/// Tells of an outbox while something happens in it: how far it is, and how each item ended, once and in order.
final class OutboxTeller: Sendable {
    private struct State {
        var seen: Int64
        var summary = OutboxSummary()
        var latest: OutboxProgress?
        var pace: Pace
        /// Given up when nobody reads: deliveries go on, and what ended is told on standard error.
        var listener: JSONOutput?
        var blocked: [String: String] = [:]
        /// What was told last: hours in which nothing happens have no lines.
        var told: OutboxTally?
    }

    /// What was there at the beginning.
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
        // A batch is told of from its first item on, whenever somebody begins to look.
        let (seen, base) = try await asking { () async throws(OutboxError) in
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
        state = Locked(State(seen: seen, pace: pace, listener: json))
    }

    /// Tells until the task is cancelled; or, if asked, until every item has ended.
    func follow(untilFinished: Bool = false) async {
        let ticker = Task {
            while true {
                try await Task.sleep(for: .milliseconds(200))
                tick()
            }
        }
        // Looked at no more often than it is shown; a line a minute needs no haste.
        let interval: Duration = isJSON ? .seconds(1) : console.canRedraw ? .milliseconds(500) : .seconds(2)
        do {
            for try await progress in outbox.progress(batch: batch, every: interval) {
                take(progress)
                try await catchUp()
                if !isSilent { for news in try await retries.news(progress.tally) { tell(news.id, news.retry) } }
                if untilFinished, progress.isFinished { break }
            }
        } catch {
            // Whoever ends next says what is wrong with the outbox.
        }
        ticker.cancel()
        _ = await ticker.result
    }

    private func take(_ progress: OutboxProgress) {
        let news = state.withLock { state in
            defer { state.blocked = progress.blockedLanes }
            state.latest = progress
            return progress.blockedLanes.filter { state.blocked[$0.key] == nil }
        }
        guard !isSilent, !isJSON else { return }
        for (lane, reason) in news.sorted(by: { $0.key < $1.key }) { console.line("\(lane) is blocked: \(reason)") }
    }

    private func tick() {
        let (due, listener) = state.withLock { state -> (OutboxProgress?, JSONOutput?) in
            let isBar = console.canRedraw && !isJSON
            guard let progress = state.latest,
                isBar || !progress.running.isEmpty || progress.tally != state.told,
                state.pace.isDue(at: ContinuousClock.now - start)
            else { return (nil, nil) }
            state.told = progress.tally
            return (progress, state.listener)
        }
        guard let due else { return }
        if isJSON {
            // Nobody reads any more: the deliveries go on all the same, and the exit status says so.
            try? listener?.write("progress", OutboxJSON.members(of: due))
        } else if !isSilent {
            if console.canRedraw {
                let (columns, rows) = (Terminal.columns, Terminal.rows)
                let lines = FlightLines.texts(due.running.map(Flight.init), columns: columns, rows: rows)
                console.bars(lines + [OutboxLine.text(due, since: base, columns: columns)])
            } else {
                console.line(OutboxLine.plain(due, since: base))
            }
        }
    }

    /// Reports that an item is tried again after a wait.
    private func tell(_ id: OutboxID, _ retry: UploadRetry) {
        guard isJSON else { return console.line("\(id): \(RetryText.text(retry))") }
        try? state.withLock { $0.listener }?.write(
            "retry", [JSONMember("id", .int(id.rawValue))] + RetryText.members(of: retry))
    }

    /// Tells of items that ended and were not told of.
    func catchUp() async throws(CommandFailure) {
        while true {
            let seen = state.withLock { $0.seen }
            let page = try await asking { () async throws(OutboxError) in try await outbox.results(after: seen) }
            for result in page {
                let isNew = state.withLock { state in
                    guard result.sequence > state.seen else { return false }
                    state.seen = result.sequence
                    return true
                }
                if isNew, batch == nil || result.item.batch == batch { tell(result) }
            }
            if page.isEmpty { return }
        }
    }

    /// Says that the end was asked for, if anything has to be waited for.
    func tellDrain(_ patience: Duration) {
        guard !isSilent, !isJSON, outbox.isSending else { return }
        console.line(
            "stopping: what is being sent has \(patience.components.seconds) s to end; a second signal ends it at once")
    }

    func endBar() { console.bar("") }

    /// All that was told of, and what is left.
    func summary(_ end: OutboxEnd) -> OutboxSummary {
        var summary = state.withLock { $0.summary }
        summary.end = end
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return summary
    }

    private func tell(_ result: OutboxResult) {
        let listener = state.withLock { state in
            state.summary.add(result.item)
            return state.listener
        }
        if let listener {
            do throws(CommandFailure) {
                try listener.write("item", OutboxJSON.members(of: result), answer: OutboxJSON.answer(of: result))
            } catch {
                state.withLock { $0.listener = nil }
                console.failure(error.message)
            }
        }
        let line = OutboxLine.text(result)
        switch Exit(result.item) {
        case .done: if !isSilent, !isJSON { console.line(line) }
        default: console.failure(line)
        }
    }
}
