import Waybill
import WaybillOutbox

/// Delivers items, shows progress, and reports each ended item and a summary.
struct OutboxRun {
    let outbox: Outbox
    let untilIdle: Bool
    /// The time that running uploads may take after a signal.
    let drainTimeout: Duration
    let output: OutboxOutputOptions
    let console: Console
    let json: JSONOutput?
    /// The command that is run for each item that ends.
    var onEnd: String?

    func run(_ session: UploadSession) async throws(CommandFailure) -> Exit {
        let reporter = try await OutboxReporter(outbox, batch: nil, console: console, json: json, output: output)
        try announce(reporter)
        let (outbox, untilIdle) = (outbox, untilIdle)
        let work = Task { () -> Result<Void, OutboxError> in
            do throws(OutboxError) {
                if untilIdle {
                    try await outbox.runUntilIdle(session: session)
                } else {
                    try await outbox.run(session: session)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        let drainTimeout = drainTimeout
        let hook = onEnd.map { EndHook(outbox, command: $0, console: console) }
        Interrupt.onFirst { _ in
            reporter.reportDrain(drainTimeout)
            hook?.stop(after: drainTimeout)
            outbox.drain(atMost: drainTimeout)
        }
        let watching = Task { await reporter.follow() }
        let hooking = Task { if let hook { await hook.follow() } }
        let result = await work.value
        for task in [watching, hooking] {
            task.cancel()
            await task.value
        }
        await hook?.finish()
        reporter.endBar()
        // The error of the run is reported before an error of the output.
        if case .failure(let error) = result, error.code != .cancelled { throw CommandFailure(error) }
        try await reporter.catchUp()
        let end = try await mappingOutboxErrors { () async throws(OutboxError) in
            OutboxEnd(tally: try await outbox.tally(), blockedLanes: try await outbox.blockedLanes())
        }
        await session.close(.cancel)
        await outbox.close()
        return finish(reporter, end)
    }

    private func announce(_ reporter: OutboxReporter) throws(CommandFailure) {
        let waiting = reporter.base.unfinished
        if let json {
            try json.write(
                "start",
                ["outbox": outbox.path, "waiting": waiting])
        } else if !output.silent, !console.canRedraw {
            console.line("delivering from \(outbox.path), \(waiting) waiting")
        }
    }

    private func finish(_ reporter: OutboxReporter, _ end: OutboxEnd) -> Exit {
        let summary = reporter.summary(end)
        for (lane, reason) in end.blockedLanes.sorted(by: { $0.key < $1.key }) {
            console.failure(
                "\(lane) is blocked: \(reason). Fix its credential or certificate, then run "
                    + "waybill outbox resume --lane '\(lane)', or start outbox run again.")
        }
        var exit = summary.exit
        if let json {
            exit = console.deliver(exit) { () throws(CommandFailure) in try json.write("summary", summary.members) }
        } else if exit != .done {
            console.failure(summary.line)
        } else if !output.silent {
            console.line("done: \(summary.line)")
        }
        return exit
    }
}
