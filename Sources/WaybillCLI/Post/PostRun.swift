import Logging
import Waybill

/// Runs a plan: sends, shows how it comes along, delivers the answer, and tells the end.
struct PostRun {
    let plan: PostPlan
    let target: ResponseOutput
    let output: OutputOptions
    let console: Console
    let json: JSONOutput?

    func run() async throws(CommandFailure) -> Exit {
        let start = ContinuousClock.now
        let interval = try output.progress.interval(isJSON: json != nil)
        let parts = plan.partCount == 1 ? "1 part" : "\(plan.partCount) parts"
        if plan.request.options?.transfer.tls.insecureSkipVerification == true {
            console.line("warning: -k: the server's certificate is not looked at, and anybody may be in between")
        }
        let place = Redaction.url(plan.request.url)
        if let json {
            try json.write(
                "start",
                [
                    JSONMember("method", .string("\(plan.request.method)")), JSONMember("url", .string(place)),
                    JSONMember("parts", .int(Int64(plan.partCount))),
                ])
        } else if !output.silent {
            if !console.canRedraw { console.line("sending \(parts) to \(place)") }
        }
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

    /// Shows progress until the end; the last snapshot.
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
        let ticker = Task {
            while true {
                try await Task.sleep(for: .milliseconds(200))
                reporter.tick(at: ContinuousClock.now - start)
            }
        }
        var last: UploadProgress?
        for await progress in task.progress {
            last = progress
            reporter.update(progress, at: ContinuousClock.now - start)
        }
        ticker.cancel()
        _ = await ticker.result
        reporter.end()
        return last
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
        if let answer = report.answer, let head = report.head {
            exit = console.deliver(exit) { () throws(CommandFailure) in try target.write(answer, head: head) }
        }
        if let json {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                try json.write(
                    "summary", report.members(exit: exit) + plan.images.members(), answer: report.answerMembers)
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
    /// The session of the command.
    func configuration(output: OutputOptions, console: Console) -> UploadSession.Configuration {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = userAgent
        // --retry is the person's own budget.
        configuration.retryBudget = nil
        if output.verbose {
            var logger = Logger(label: "waybill") { _ in EventLog(console) }
            logger.logLevel = .trace
            configuration.logger = logger
        }
        return configuration
    }
}

extension Console {
    /// Hands something over, and says so when nobody takes it. What the server did goes before what became of its answer.
    func deliver(_ exit: Exit, _ body: () throws(CommandFailure) -> Void) -> Exit {
        do throws(CommandFailure) {
            try body()
            return exit
        } catch {
            failure(error.message)
            return exit == .done ? error.exit : exit
        }
    }
}
