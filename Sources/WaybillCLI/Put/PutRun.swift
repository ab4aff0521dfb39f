import Waybill
import WaybillStores

/// Runs a plan: sends, shows how it comes along, tells of each file when it has ended, and of all at the end.
struct PutRun {
    let plan: PutPlan
    let output: PutOutputOptions
    let console: Console
    let json: JSONOutput?

    func run() async throws(CommandFailure) -> Exit {
        let start = ContinuousClock.now
        let style = try BatchReporter.Style(console, output.progress, json: json, isSilent: output.silent)
        try announce()
        Interrupt.arm()
        let board = PutBoard(files: plan.files, parallel: plan.parallel)
        Interrupt.onFirst { _ in board.cancel() }
        let reporter = BatchReporter(style, console: console) { board.flights(at: $0) }
        let ticker = Task {
            while true {
                try await Task.sleep(for: .milliseconds(200))
                let time = ContinuousClock.now - start
                reporter.update(board.progress(at: time))
                reporter.tick(at: time)
            }
        }
        var summary = PutSummary(files: plan.files.count)
        // Given up when nobody reads: the uploads go on, and files that ended are told of on standard error.
        var listener = json
        await withTaskGroup(of: (Int, PutReport).self) { group in
            while let index = board.take() { add(index, to: &group, board, reporter, start) }
            while let (index, report) = await group.next() {
                board.end(index, report)
                let exit = tell(index, report, &listener)
                summary.add(index, report, exit: exit)
                if plan.failsEarly, exit != .done { board.cancel() }
                if let next = board.take() { add(next, to: &group, board, reporter, start) }
            }
        }
        ticker.cancel()
        _ = await ticker.result
        reporter.end()
        summary.acknowledged = board.acknowledged
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return finish(summary, listener)
    }

    private func add(
        _ index: Int, to group: inout TaskGroup<(Int, PutReport)>, _ board: PutBoard, _ reporter: BatchReporter,
        _ begin: ContinuousClock.Instant
    ) {
        let (file, target) = (plan.files[index], plan.target)
        group.addTask {
            let start = ContinuousClock.now
            let transfer = target.start(file)
            board.begin(index, transfer)
            let watching = Task {
                await transfer.watch { count in
                    let retry = board.update(index, count, at: ContinuousClock.now - begin)
                    if let retry { reporter.retry(file.path, retry) }
                }
            }
            let result = await transfer.end()
            _ = await watching.value
            return (
                index,
                PutReport(file: file, result: result, time: ContinuousClock.now - start, signal: Interrupt.signal)
            )
        }
    }

    private func announce() throws(CommandFailure) {
        if let skipped = plan.skipped, !output.silent { console.line(skipped) }
        if let json {
            try json.write(
                "start",
                [
                    JSONMember("files", .int(Int64(plan.files.count))),
                    JSONMember("total", .int(plan.files.reduce(0) { $0 + $1.size })),
                ])
        } else if !output.silent, !console.canRedraw, let first = plan.files.first {
            let place = plan.files.count == 1 ? plan.target.place(of: first.key) : "the store"
            console.line("sending \(Self.count(plan.files.count)) to \(place)")
        }
    }

    private func tell(_ index: Int, _ report: PutReport, _ listener: inout JSONOutput?) -> Exit {
        var exit = report.exit
        if let json = listener {
            do throws(CommandFailure) {
                try json.write(
                    "file", Self.head(index, report.file, plan) + report.members, answer: report.answerMembers)
            } catch {
                listener = nil
                console.failure(error.message)
                if exit == .done { exit = error.exit }
            }
        } else if json == nil, let text = report.output {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                let remedy = "Send standard output to a file or through a pipe."
                try StandardOutput.write(ForeignText.bytes(text, for: 1, remedy: remedy))
            }
        }
        switch report.result {
        case .success: if !output.silent, json == nil { console.line(report.line) }
        case .failure(let error): if !error.isCancelled { console.failure(report.line) }
        }
        return exit
    }

    private func finish(_ summary: PutSummary, _ listener: JSONOutput?) -> Exit {
        var exit = summary.exit
        if let listener {
            exit = console.deliver(exit) { () throws(CommandFailure) in try listener.write("summary", summary.members) }
        }
        if exit != .done {
            console.failure(summary.line)
        } else if !output.silent, json == nil {
            console.line("done: \(summary.line)")
        }
        return exit
    }

    static func head(_ index: Int, _ file: PutFile, _ plan: PutPlan) -> [JSONMember] {
        [
            JSONMember("index", .int(Int64(index))), JSONMember("file", .string(file.path)),
            JSONMember("to", .string(plan.target.place(of: file.key))),
        ]
    }

    private static func count(_ files: Int) -> String { files == 1 ? "1 file" : "\(files) files" }
}
