import Waybill

/// Runs a plan for several files: sends a form for each, and reports each ended upload and a summary.
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
            batch.executing.sorted { $0.key < $1.key }.map { TransferRow(files[$0.key], $0.value.latestProgress) }
        }
        let watching = Task {
            for await progress in batch.progress { reporter.update(progress) }
        }
        let retries = Task { await reportRetries(events, of: batch, reporter) }
        var summary = FilesSummary(files: files.count, verb: "accepted")
        var jsonOutput = json
        await Ticker.run(since: start, reporter.tick) {
            for await result in batch.results {
                let report = Self.report(result.result)
                let exit = finish(result.item, result.index, report, &jsonOutput)
                summary.add(result.index, report.ending, exit: exit)
                if plan.options.failEarly, exit != .done { batch.cancel() }
            }
        }
        retries.cancel()
        _ = await (watching.value, retries.value)
        reporter.end()
        summary.acknowledged = await batch.summary.acknowledged
        summary.time = ContinuousClock.now - start
        summary.signal = Interrupt.signal
        return summary.finish(console, jsonOutput, isQuiet: output.silent || json != nil)
    }

    /// Reports each retry. Uses events, because snapshots skip short waits.
    private func reportRetries(
        _ events: AsyncValues<UploadEvent, Never>.Iterator, of batch: UploadBatch<String>, _ reporter: BatchReporter
    ) async {
        var events = events
        let limit = plan.post.request.options?.retry.maxRetries ?? 0
        while let event = await events.next() {
            guard case .retrying(let delay, let reason) = event.kind,
                let index = batch.executing.first(where: { $0.value.id == event.id })?.key
            else { continue }
            // The event contains the number of the next attempt.
            let retry = UploadRetry(
                reason: reason, delay: delay, timeLeft: delay, number: event.attempt - 1, limit: limit)
            reporter.retry(plan.files[index], retry)
        }
    }

    private func announce() throws(CommandFailure) {
        let request = plan.post.request
        if request.options?.transfer.tls.insecureSkipVerification == true { console.warnInsecure() }
        let (url, count) = (Redaction.url(request.url), plan.files.count)
        if let json {
            try json.write(
                "start",
                ["method": "\(request.method)", "url": url, "parts": plan.post.partCount, "files": count])
        } else if !output.silent, !console.canRedraw {
            console.line("sending \(Figures.count(count, "file")) to \(url)")
        }
    }

    private func startBatch(in session: UploadSession) -> UploadBatch<String> {
        var options = UploadBatchOptions()
        options.onFailure = plan.options.failEarly ? .stop : .continue
        // Buffer all results, so that none is lost if they are read late.
        options.unreadResults = plan.files.count
        let plan = plan
        return session.startMeasuredBatch(of: plan.files, options: options) { file in
            try plan.request(for: file)
        }
    }

    private static func report(_ result: Result<UploadResponse, UploadError>) -> PostReport {
        var report = PostReport(result: result, progress: nil, time: .zero, signal: Interrupt.signal)
        // The time on the wire, without the time in the queue.
        report.time = report.attempts.reduce(.zero) { $0 + $1.metrics.total }
        return report
    }

    /// Writes the response for a file, reports its result, and returns its exit status.
    private func finish(_ file: String, _ index: Int, _ report: PostReport, _ jsonOutput: inout JSONOutput?) -> Exit {
        var exit = console.deliver(report.exit) { () throws(CommandFailure) in try deliver(report, for: file) }
        // If another upload failed or a signal arrived, that determines the exit status.
        let isCancelled = report.ending == .cancelled
        let status = isCancelled && report.signal == nil ? nil : exit
        let head: JSONObject = ["index": index, "file": file]
        exit = console.write(
            "file", head + report.members(exit: status) + plan.images.members(of: file), response: report.body,
            to: &jsonOutput, exit)
        switch report.result {
        case .success:
            if !output.silent, json == nil { console.line(report.line(of: file)) }
        case .failure:
            // A signal is reported once, but an upload that may have arrived before it is always reported.
            if !isCancelled || !report.attempts.isEmpty { console.failure(report.line(of: file)) }
        }
        return exit
    }

    private func deliver(_ report: PostReport, for file: String) throws(CommandFailure) {
        guard let body = report.responseBody, let head = report.head else { return }
        if let headOutput = plan.headOutput {
            try ResponseOutput(path: headOutput.path(for: file), isJSON: false, option: "-D").write([], after: head)
        }
        if let bodyOutput = plan.bodyOutput {
            try ResponseOutput(path: bodyOutput.path(for: file), isJSON: false)
                .write(body, after: plan.includesHead ? head : nil)
        }
    }
}
