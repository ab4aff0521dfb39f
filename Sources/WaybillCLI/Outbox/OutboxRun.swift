import Waybill
import WaybillOutbox

/// Delivers, shows how it comes along, tells of each item that ended, and of all at the end.
struct OutboxRun {
    let outbox: Outbox
    let untilIdle: Bool
    /// How long a signal leaves what is being sent.
    let patience: Duration
    let output: OutboxOutputOptions
    let console: Console
    let json: JSONOutput?

    func run(_ session: UploadSession) async throws(CommandFailure) -> Exit {
        let teller = try await OutboxTeller(outbox, batch: nil, console: console, json: json, output: output)
        try announce(teller)
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
        let patience = patience
        Interrupt.onFirst { _ in
            teller.tellDrain(patience)
            outbox.drain(atMost: patience)
        }
        let watching = Task { await teller.follow() }
        let result = await work.value
        watching.cancel()
        await watching.value
        teller.endBar()
        // What failed goes before what could not be told.
        if case .failure(let error) = result, error.code != .cancelled { throw CommandFailure(error) }
        try await teller.catchUp()
        let end = try await asking { () async throws(OutboxError) in
            OutboxEnd(tally: try await outbox.tally(), blockedLanes: try await outbox.blockedLanes())
        }
        await session.close(.cancel)
        await outbox.close()
        return finish(teller, end)
    }

    private func announce(_ teller: OutboxTeller) throws(CommandFailure) {
        let waiting = teller.base.unfinished
        if let json {
            try json.write(
                "start",
                [JSONMember("outbox", .string(outbox.path)), JSONMember("waiting", .int(Int64(waiting)))])
        } else if !output.silent, !console.canRedraw {
            console.line("delivering from \(outbox.path), \(waiting) waiting")
        }
    }

    private func finish(_ teller: OutboxTeller, _ end: OutboxEnd) -> Exit {
        let summary = teller.summary(end)
        for (lane, reason) in end.blockedLanes.sorted(by: { $0.key < $1.key }) {
            console.failure(
                "\(lane) is blocked: \(reason). See to its credential or certificate, then: waybill outbox resume --lane "
                    + "'\(lane)', or run again")
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
