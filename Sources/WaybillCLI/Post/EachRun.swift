import Waybill

/// Runs a plan for many files: sends a form for each, tells of each when it has ended, and of all together at the end.
struct EachRun {
    let plan: EachPlan
    let output: OutputOptions
    let console: Console
    let json: JSONOutput?

    func run() async throws(CommandFailure) -> Exit {
        let start = ContinuousClock.now
        let style = try BatchReporter.Style(console, output.progress, json: json, isSilent: output.silent)
        try announce()
        Interrupt.arm()
        let session = UploadSession(configuration: plan.configuration(output: output, console: console))
        let events = session.events.makeAsyncIterator()
        let batch = startBatch(in: session)
        Interrupt.onFirst { _ in batch.cancel() }
        let files = plan.files
        let reporter = BatchReporter(style, console: console) { _ in
            batch.executing.sorted { $0.key < $1.key }.map { Flight(files[$0.key], $0.value.latestProgress) }
        }
        let watching = Task {
            for await progress in batch.progress { reporter.update(progress) }
        }
        let retries = Task { await tellRetries(events, of: batch, reporter) }
        let ticker = Task {
            while true {
                try await Task.sleep(for: .milliseconds(200))
                reporter.tick(at: ContinuousClock.now - start)
            }
        }
        var summary = EachSummary(files: plan.files.count)
        // Given up when nobody reads: the uploads go on, and files that ended are told of on standard error.
        var listener = json
        for await result in batch.results {
            let report = Self.report(result.result)
            let exit = tell(result.item, result.index, report, &listener)
            summary.add(result.index, report, exit: exit)
            if plan.options.failEarly, exit != .done { batch.cancel() }
        }
        ticker.cancel()
        retries.cancel()
        _ = await (watching.value, retries.value, ticker.result)
        reporter.end()
        summary.acknowledged = await batch.summary.acknowledged
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return finish(summary, listener)
    }

    /// Tells of each retry. Snapshots would do for a bar, but not for a log: they skip short waits.
    private func tellRetries(
        _ events: UploadEventSequence.Iterator, of batch: UploadBatch<String>, _ reporter: BatchReporter
    ) async {
        var events = events
        let limit = plan.post.request.options?.retry.maxRetries ?? 0
        while let event = await events.next() {
            guard case .retrying(let delay, let reason) = event.kind,
                let index = batch.executing.first(where: { $0.value.id == event.id })?.key
            else { continue }
            // The event has the number of the attempt that follows.
            let retry = UploadRetry(
                reason: reason, delay: delay, timeLeft: delay, number: event.attempt - 1, limit: limit)
            reporter.retry(plan.files[index], retry)
        }
    }

    private func announce() throws(CommandFailure) {
        let request = plan.post.request
        if request.options?.transfer.tls.insecureSkipVerification == true {
            console.line("warning: -k: the server's certificate is not looked at, and anybody may be in between")
        }
        let (place, count) = (Redaction.url(request.url), plan.files.count)
        if let json {
            try json.write(
                "start",
                [
                    JSONMember("method", .string("\(request.method)")), JSONMember("url", .string(place)),
                    JSONMember("parts", .int(Int64(plan.post.partCount))), JSONMember("files", .int(Int64(count))),
                ])
        } else if !output.silent, !console.canRedraw {
            console.line("sending \(count == 1 ? "1 file" : "\(count) files") to \(place)")
        }
    }

    private func startBatch(in session: UploadSession) -> UploadBatch<String> {
        var options = UploadBatchOptions()
        options.onFailure = plan.options.failEarly ? .stop : .goOn
        // However late the reader comes, no result is lost.
        options.unreadResults = plan.files.count
        let plan = plan
        return session.startMeasuredBatch(of: plan.files, options: options) { file in
            try plan.request(for: file)
        }
    }

    private static func report(_ result: Result<UploadResponse, UploadError>) -> PostReport {
        var report = PostReport(result: result, progress: nil, time: .zero, signal: Interrupt.signal)
        // On the wire: what it waited for its turn is no time of its own.
        report.time = report.attempts.reduce(.zero) { $0 + $1.metrics.total }
        return report
    }

    /// Delivers the answer for a file and tells how it ended.
    private func tell(_ file: String, _ index: Int, _ report: PostReport, _ listener: inout JSONOutput?) -> Exit {
        var exit = report.exit
        if let answer = report.answer, let head = report.head {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                if let heads = plan.heads {
                    try AnswerTarget(path: heads.path(for: file), isJSON: false, option: "-D").write([], after: head)
                }
                if let answers = plan.answers {
                    try AnswerTarget(path: answers.path(for: file), isJSON: false)
                        .write(answer, after: plan.includesHead ? head : nil)
                }
            }
        }
        var isCancelled = false
        if case .failure(let error) = report.result { isCancelled = error.isCancelled }
        if let json = listener {
            let head = [JSONMember("index", .int(Int64(index))), JSONMember("file", .string(file))]
            let number = isCancelled && report.signal == nil ? nil : exit
            do throws(CommandFailure) {
                try json.write(
                    "file", head + report.members(exit: number) + plan.images.members(of: file),
                    answer: report.answerMembers)
            } catch {
                listener = nil
                console.failure(error.message)
                if exit == .done { exit = error.exit }
            }
        }
        switch report.result {
        case .success:
            if !output.silent, json == nil { console.line(report.line(of: file)) }
        case .failure:
            // A signal is told once, but not what may have arrived before it.
            if !isCancelled || !report.attempts.isEmpty { console.failure(report.line(of: file)) }
        }
        return exit
    }

    private func finish(_ summary: EachSummary, _ listener: JSONOutput?) -> Exit {
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
}
