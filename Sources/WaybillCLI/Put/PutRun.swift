import Waybill
import WaybillStores

/// Runs a plan: sends the files, shows progress, and reports each ended upload and a summary.
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
        let progress = PutProgress(files: plan.files)
        let reporter = BatchReporter(style, console: console) { progress.transfers(at: $0) }
        let target = plan.target
        let batch = PutBatch(
            of: plan.files, parallel: plan.parallel, failsEarly: plan.failsEarly, progress: progress,
            start: { target.start($0) }, onRetry: { reporter.retry($0.path, $1) })
        Interrupt.onFirst { _ in batch.cancel() }
        let watching = Task {
            for await progress in batch.progress { reporter.update(progress) }
        }
        var summary = FilesSummary(files: plan.files.count, verb: "stored")
        var skippedBytes: Int64 = 0
        // `nil` after standard output could not be written: the uploads continue, and ended files are reported on
        // standard error.
        var jsonOutput = json
        await Ticker.run(since: start) { time in
            reporter.tick(at: time)
        } during: {
            for await result in batch.results {
                let report = PutReport(
                    file: plan.files[result.index], result: result.result, time: progress.time(of: result.index),
                    signal: Interrupt.signal)
                let exit = finish(result.index, report, &jsonOutput)
                summary.add(result.index, report.ending, exit: exit)
                if report.ending == .skipped { skippedBytes += report.file.size }
                if plan.failsEarly, exit != .done { batch.cancel() }
            }
            await watching.value
        }
        reporter.end()
        // In the progress, skipped bytes are acknowledged: the store has them.
        summary.acknowledged = max(0, batch.acknowledged - skippedBytes)
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return summary.finish(console, jsonOutput, isQuiet: output.silent || json != nil)
    }

    private func announce() throws(CommandFailure) {
        if let skipped = plan.skipped, !output.silent { console.line(skipped) }
        if let json {
            try json.write(
                "start", ["files": plan.files.count, "total": plan.files.reduce(0) { $0 + $1.size }])
        } else if !output.silent, !console.canRedraw, let first = plan.files.first {
            let destination = plan.files.count == 1 ? plan.target.location(of: first.key) : "the store"
            console.line("sending \(Figures.count(plan.files.count, "file")) to \(destination)")
        }
    }

    /// Prints the output of a file, reports its result, and returns the exit status.
    private func finish(_ index: Int, _ report: PutReport, _ jsonOutput: inout JSONOutput?) -> Exit {
        var exit = console.write(
            "file", Self.head(index, report.file, plan) + report.members, response: report.body, to: &jsonOutput,
            report.exit)
        if json == nil, let output = report.output {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                let remedy = "Redirect standard output to a file or pipe."
                try StandardOutput.write(UntrustedText.bytes(output, for: 1, remedy: remedy))
            }
        }
        switch report.ending {
        case .succeeded, .skipped: if !output.silent, json == nil { console.line(report.line) }
        case .failed: console.failure(report.line)
        case .cancelled: break
        }
        return exit
    }

    static func head(_ index: Int, _ file: PutFile, _ plan: PutPlan) -> JSONObject {
        ["index": index, "file": file.path, "to": plan.target.location(of: file.key)]
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
            let size = file.isPipe ? "length unknown until it is read" : ByteCount(bytes: file.size).description
            try output.write(
                "file", Self.head(index, file, plan) + ["total": file.isPipe ? nil : file.size],
                ["\(file.path) -> \(plan.target.location(of: file.key)) (\(size))"])
            return file.size
        }
        return try dryRun.finish()
    }
}
