import Waybill

/// Runs a plan: sends the form, shows progress, writes the response, and reports the result.
struct PostRun {
    let plan: PostPlan
    let target: ResponseOutputs
    let output: OutputOptions
    let console: Console
    let json: JSONOutput?

    func run() async throws(CommandFailure) -> Exit {
        let start = ContinuousClock.now
        let interval = try output.progress.interval(isJSON: json != nil)
        try announce()
        Interrupt.arm()
        let configuration = plan.configuration(output: output, console: console)
        let task = UploadSession(configuration: configuration).start(plan.request)
        Interrupt.onFirst { _ in task.cancel() }
        let last = await follow(task, every: interval, since: start)
        let report = PostReport(
            result: await Self.result(of: task), progress: last, time: ContinuousClock.now - start,
            signal: Interrupt.signal)
        return finish(report)
    }

    /// Shows progress until the end and returns the last snapshot.
    private func follow(
        _ task: UploadTask, every interval: Duration?, since start: ContinuousClock.Instant
    ) async -> UploadProgress? {
        let console = console
        let reporter: any ProgressReporter =
            if let json { JSONReporter(json, every: interval) } else if output.silent {
                SilentReporter()
            } else if console.canRedraw { TerminalReporter(console) } else {
                PlainReporter(every: interval) { console.line($0) }
            }
        let last = await Ticker.run(since: start, reporter.tick) {
            var last: UploadProgress?
            for await progress in task.progress {
                last = progress
                reporter.update(progress, at: ContinuousClock.now - start)
            }
            return last
        }
        reporter.end()
        return last
    }

    private func announce() throws(CommandFailure) {
        if plan.request.options?.transfer.tls.insecureSkipVerification == true { console.warnInsecure() }
        let url = Redaction.url(plan.request.url)
        if let json {
            try json.write(
                "start", ["method": "\(plan.request.method)", "url": url, "parts": plan.partCount])
        } else if !output.silent, !console.canRedraw {
            console.line("sending \(Figures.count(plan.partCount, "part")) to \(url)")
        }
    }

    private static func result(of task: UploadTask) async -> Result<UploadResponse, UploadError> {
        do throws(UploadError) {
            return .success(try await task.response)
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ report: PostReport) -> Exit {
        if output.verbose {
            for line in report.attemptLines { console.line(line) }
        }
        var exit = report.exit
        if let body = report.responseBody, let head = report.head {
            exit = console.deliver(exit) { () throws(CommandFailure) in try target.write(body, head: head) }
        }
        if let json {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                try json.write(
                    "summary", report.members(exit: exit) + plan.images.members(), response: report.body)
            }
        }
        switch report.result {
        case .success:
            if !output.silent, json == nil { console.line(report.successLine) }
        case .failure:
            for line in report.failureLines { console.failure(line) }
        }
        return exit
    }
}

extension PostPlan {
    /// Returns the configuration of the session.
    func configuration(output: OutputOptions, console: Console) -> UploadSession.Configuration {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = userAgent
        // `--retry` is the limit that the user has set.
        configuration.retryBudget = nil
        if output.verbose { configuration.logger = EventLog.logger(console) }
        return configuration
    }
}
