import WaybillCore
import Glibc
import Waybill

/// Recompresses the images of a call, and writes a report about them with `--report`.
struct ShrinkRun: Sendable {
    let jobs: [ShrinkJob]
    let options: JPEGOptions
    let replaces: Bool
    /// The path of the report.
    let page: String?
    private let directories = CreatedDirectories()
    private let budget: ReportBudget
    private let links: ReportLinks?

    init(jobs: [ShrinkJob], options: JPEGOptions, replaces: Bool, page: String?) {
        (self.jobs, self.options, self.replaces, self.page) = (jobs, options, replaces, page)
        budget = ReportBudget(count: jobs.count)
        links = page.map { ReportLinks(page: $0) }
    }

    /// The result of an image.
    typealias Outcome = Result<ShrinkReport, CommandFailure>

    /// Recompresses the images, then writes the report.
    ///
    /// - Parameter each: Receives the result of each image, in the order of the inputs.
    /// - Returns: The results.
    /// - Throws: ``CommandFailure`` for an error of the report. The failure of an image is not thrown.
    func run(each: (ShrinkJob, Outcome) throws(CommandFailure) -> Void) async throws(CommandFailure) -> [Outcome] {
        // After all files were closed: a file with a temporary name would keep its directory from being removed.
        defer { directories.removeEmpty() }
        return try await recompressAll(each)
    }

    private func recompressAll(
        _ each: (ShrinkJob, Outcome) throws(CommandFailure) -> Void
    ) async throws(CommandFailure) -> [Outcome] {
        // Opened before the work, which may take long, so that an invalid path fails immediately.
        let file: OutputFile? =
            if let page { try openFile(page) } else { nil }
        let piped =
            jobs.contains { $0.input == "-" }
            ? try InputFile.read("-", limit: Self.maximumImageBytes, for: "the image") : nil
        Interrupt.arm()
        let cancellation = CancellationGroup()
        Interrupt.onFirst { _ in cancellation.cancel() }
        var outcomes: [Outcome] = []
        var entries: [ReportImage] = []
        try await order.run(jobs) { job in
            await cancellation.run { await recompress(job, piped) }
        } deliver: { result throws(CommandFailure) in
            outcomes.append(result.outcome)
            entries.append(result.entry)
            try each(jobs[outcomes.count - 1], result.outcome)
        }
        let hasSuccess = outcomes.contains { if case .success = $0 { true } else { false } }
        if let file, let page, hasSuccess, Interrupt.signal == nil {
            Console.standard.line("writing the report of \(Figures.count(entries.count, "image")) to \(page)")
            let report = ReportPage(options: options, entries: entries)
            try file.append(Array(report.head.utf8))
            try await order.run(Array(entries.enumerated())) { number, entry in
                await cancellation.run { await ReportSection(entry, number: number + 1, options, budget).html() }
            } deliver: { html throws(CommandFailure) in
                try file.append(Array(html.utf8))
            }
            if Interrupt.signal == nil { try file.commit(Array(report.foot.utf8)) }
        }
        return outcomes
    }

    /// The maximum size of an image that the decoder accepts.
    private static let maximumImageBytes = Int(PipedPart.maxImageBytes)

    /// Returns the path of a copy of a FIFO or a shell's pipe, because it can be read only once; `nil` for a file.
    private static func copyOfPipe(_ path: String) async throws(CommandFailure) -> String? {
        guard PipedInput.isPipe(path) else { return nil }
        do {
            return try await PipedInput(path, limit: PipedPart.maxImageBytes).copied().path
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(JPEGError(.cancelled, "Reading was cancelled."), about: path)
        }
    }

    /// Two more than the library processes concurrently, so that the next image is read while a result is written.
    private var order: OrderedWork {
        OrderedWork(window: max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) + 2)
    }

    private struct JobResult: Sendable {
        var outcome: Outcome
        var entry: ReportImage
    }

    private func recompress(_ job: ShrinkJob, _ piped: [UInt8]?) async -> JobResult {
        var input: JPEGInput = job.input == "-" ? .bytes(piped ?? []) : .file(job.input)
        do throws(CommandFailure) {
            if job.input != "-", let path = try await Self.copyOfPipe(job.input) { input = .file(path) }
            let result = try await write(job, input)
            let report = ShrinkReport(input: job.input, output: job.output, image: result.report)
            // For a page, results are read from their files again: a thousand of them would use too much memory.
            let after: JPEGInput = job.output == "-" ? .bytes(result.bytes) : .file(job.output)
            return JobResult(
                outcome: .success(report),
                entry: ReportImage(
                    name: job.input, before: input, after: after, outcome: .success(report),
                    thumbnail: await thumbnail(of: result), originalLink: links?.link(to: job.input),
                    resultLink: links?.link(to: job.output)))
        } catch {
            return JobResult(
                outcome: .failure(error),
                entry: ReportImage(name: job.input, before: input, after: input, outcome: .failure(error)))
        }
    }

    /// Returns a small image for the table of the page.
    private func thumbnail(of result: JPEGResult) async -> [UInt8]? {
        guard page != nil, budget.hasThumbnails else { return nil }
        let limit = ByteCount.bytes(Int64(ReportBudget.thumbnailBytes))
        let options = JPEGOptions(maxBytes: limit, quality: 80, maxSide: 160, mode: .draft)
        return try? await JPEGRecompressor(options).recompress(result.bytes).bytes
    }

    private func openFile(_ path: String, mode: AtomicFile.Mode = .confidential) throws(CommandFailure) -> OutputFile {
        try directories.createParents(of: path)
        return try OutputFile(path, replaces: replaces, mode: mode)
    }

    private func write(_ job: ShrinkJob, _ input: JPEGInput) async throws(CommandFailure) -> JPEGResult {
        let file =
            job.output == "-" ? nil : try openFile(job.output, mode: .copy(of: job.input == "-" ? nil : job.input))
        let result: JPEGResult
        do throws(JPEGError) {
            result = try await JPEGRecompressor(options).recompress(input)
        } catch {
            throw CommandFailure(error, about: job.input)
        }
        if let file { try file.commit(result.bytes) } else { try StandardOutput.write(result.bytes) }
        return result
    }

}

extension CommandFailure {
    /// Creates a failure from the error of an image.
    init(_ error: JPEGError, about input: String) {
        self.init(
            code: Code(error.code.description), exit: Exit(error, signal: Interrupt.signal),
            message: "\(Redaction.quoted(input)): \(error.code): \(error.message)")
    }
}

/// Cancels work on a signal: running tasks, and tasks that start later.
private final class CancellationGroup: Sendable {
    private struct State {
        var isCancelled = false
        var next = 0
        var cancels: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())

    func cancel() {
        let cancels = state.withLock { state in
            state.isCancelled = true
            return Array(state.cancels.values)
        }
        for cancel in cancels { cancel() }
    }

    func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
        let task = Task { await work() }
        let (number, isCancelled) = state.withLock { state in
            state.next += 1
            state.cancels[state.next] = { task.cancel() }
            return (state.next, state.isCancelled)
        }
        if isCancelled { task.cancel() }
        let value = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        state.withLock { _ = $0.cancels.removeValue(forKey: number) }
        return value
    }
}
