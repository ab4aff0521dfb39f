import Waybill
import WaybillStores

/// Runs a plan: sends the files, shows progress, and reports each file that has ended and a summary.
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
        let files = PutProgress(files: plan.files, parallel: plan.parallel)
        Interrupt.onFirst { _ in files.cancel() }
        let reporter = BatchReporter(style, console: console) { files.flights(at: $0) }
        var summary = FilesSummary(files: plan.files.count, verb: "stored")
        var listener = json
        await Ticker.run(since: start) { time in
            reporter.update(files.progress(at: time))
            reporter.tick(at: time)
        } during: {
            await withTaskGroup(of: (Int, PutReport).self) { group in
                while let index = files.take() { add(index, to: &group, files, reporter, start) }
                while let (index, report) = await group.next() {
                    files.end(index, report)
                    let exit = finish(index, report, &listener)
                    summary.add(index, report.ending, exit: exit)
                    if plan.failsEarly, exit != .done { files.cancel() }
                    if let next = files.take() { add(next, to: &group, files, reporter, start) }
                }
            }
        }
        reporter.end()
        summary.acknowledged = files.acknowledged
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return summary.finish(console, listener, isQuiet: output.silent || json != nil)
    }

    private func add(
        _ index: Int, to group: inout TaskGroup<(Int, PutReport)>, _ files: PutProgress, _ reporter: BatchReporter,
        _ begin: ContinuousClock.Instant
    ) {
        let (file, target) = (plan.files[index], plan.target)
        group.addTask {
            let start = ContinuousClock.now
            let transfer = target.start(file)
            files.begin(index, transfer)
            let watching = Task {
                await transfer.watch { count in
                    let retry = files.update(index, count, at: ContinuousClock.now - begin)
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
                "start", ["files": plan.files.count, "total": plan.files.reduce(0) { $0 + $1.size }])
        } else if !output.silent, !console.canRedraw, let first = plan.files.first {
            let place = plan.files.count == 1 ? plan.target.place(of: first.key) : "the store"
            console.line("sending \(Figures.count(plan.files.count, "file")) to \(place)")
        }
    }

    /// Prints the output of a file and reports how it ended.
    private func finish(_ index: Int, _ report: PutReport, _ listener: inout JSONOutput?) -> Exit {
        var exit = console.write(
            "file", Self.head(index, report.file, plan) + report.members, response: report.body, to: &listener,
            report.exit)
        if json == nil, let output = report.output {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                let remedy = "Send standard output to a file or through a pipe."
                try StandardOutput.write(ForeignText.bytes(output, for: 1, remedy: remedy))
            }
        }
        switch report.ending {
        case .succeeded: if !output.silent, json == nil { console.line(report.line) }
        case .failed: console.failure(report.line)
        case .cancelled: break
        }
        return exit
    }

    static func head(_ index: Int, _ file: PutFile, _ plan: PutPlan) -> JSONObject {
        ["index": index, "file": file.path, "to": plan.target.place(of: file.key)]
    }
}

extension PutRun {
    /// Prints what would be sent where. Each file is opened and closed.
    func dryRun() async throws(CommandFailure) -> Exit {
        var dryRun = DryRun(console: console, json: json, isSilent: output.silent)
        if let skipped = plan.skipped, !output.silent { console.line(skipped) }
        try dryRun.write("start", plan.limits.limitMembers, [plan.limits.limitLine])
        let output = dryRun
        try await dryRun.forEach(plan.files, name: \.path, failsEarly: plan.failsEarly) {
            index, file throws(CommandFailure) in
            if !file.isPipe { try InputFile.check(file.path) }
            let size = file.isPipe ? "length not known before it is read" : ByteCount(bytes: file.size).description
            try output.write(
                "file", Self.head(index, file, plan) + ["total": file.isPipe ? nil : file.size],
                ["\(file.path) -> \(plan.target.place(of: file.key)) (\(size))"])
            return file.size
        }
        return try dryRun.finish()
    }
}
