import LittleBackend
import Waybill

/// Priorities and duplicates among the uploads of one session.
struct SessionPriorities {
    /// Called with each line of output.
    var report: @Sendable (String) -> Void

    /// The result of the run.
    struct Outcome {
        /// The names, in the order in which the backend stored them.
        var order: [String]
        /// Whether two requests with one key shared a transfer.
        var isJoined: Bool
        /// The responses to both requests.
        var responses: [String]
    }

    @discardableResult
    func run() async throws -> Outcome {
        let backend = try await LittleBackend(token: Note.token)
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 1
        let session = UploadSession(configuration: configuration)

        // The first upload occupies the slot until all others are queued.
        await backend.delayResponse(toEffect: 1)
        let first = start("first", .normal, session, backend.url)
        _ = await backend.wait { $0.effects.count == 1 }

        let report = start("report", .veryLow, session, backend.url)
        let letter = start("letter", .normal, session, backend.url)
        let again = start("letter", .normal, session, backend.url)
        let alarm = start("alarm", .veryHigh, session, backend.url)
        self.report("queued:    report (very low), letter, letter, alarm (very high)")
        // A priority can be changed while the upload waits.
        report.priority = .high
        self.report("           then the priority of the report is raised to high")
        for task in [report, letter, alarm] { await Self.waitUntilQueued(task) }

        await backend.sendDelayedResponse()
        var responses: [String] = []
        for task in [letter, again] { responses.append(try await task.response.text) }
        for task in [first, report, alarm] { _ = try await task.response }
        let order = Note.order(await backend.snapshot)
        self.report("delivered: \(order.joined(separator: ", "))")
        self.report("the two letters shared \(again.isJoined ? "one transfer" : "no transfer")")
        await session.close()
        await backend.stop()
        return Outcome(order: order, isJoined: again.isJoined, responses: responses)
    }

    /// Waits until an upload is prepared and waits for a slot.
    private static func waitUntilQueued(_ task: UploadTask) async {
        for await progress in task.progress where progress.phase == .queued { return }
    }

    private func start(
        _ name: String, _ priority: UploadPriority, _ session: UploadSession, _ url: String
    ) -> UploadTask {
        var options = UploadOptions()
        options.priority = priority
        // A running transfer with the same key is joined.
        options.deduplicationKey = name
        let form: MultipartForm = [.text("TOKEN", .secret(Note.token)), .text("BUSINESSNO", name)]
        return session.start(form, to: url, options: options)
    }
}
