import LittleBackend
import Waybill

/// Priorities and doubles among the uploads of one session: what operation queues were used for.
struct InTheProgram {
    /// Told what happens.
    var report: @Sendable (String) -> Void

    /// What came of it.
    struct Outcome {
        /// The names, in the order in which the backend booked them.
        var order: [String]
        /// Whether the upload that was asked for twice was one transfer.
        var isJoined: Bool
        /// The answers to both who asked for it.
        var answers: [String]
    }

    @discardableResult
    func run() async throws -> Outcome {
        let backend = try await LittleBackend(token: Note.token)
        var configuration = UploadSession.Configuration()
        configuration.slots = 1
        let session = UploadSession(configuration: configuration)

        // The slot is taken until everything is in line.
        await backend.holdAnswer(toBooking: 1)
        let first = start("first", .normal, session, backend.url)
        _ = await backend.wait { $0.effects.count == 1 }

        let report = start("report", .veryLow, session, backend.url)
        let letter = start("letter", .normal, session, backend.url)
        let again = start("letter", .normal, session, backend.url)
        let alarm = start("alarm", .veryHigh, session, backend.url)
        self.report("asked for: report (very low), letter, letter, alarm (very high)")
        // It turned out that somebody waits for it.
        report.priority = .high
        self.report("           and then the report is raised to high")
        for task in [report, letter, alarm] { await Self.inLine(task) }

        await backend.descriptorClosed()
        var answers: [String] = []
        for task in [letter, again] { answers.append(try await task.response.text) }
        for task in [first, report, alarm] { _ = try await task.response }
        let order = Note.order(await backend.books)
        self.report("arrived:   \(order.joined(separator: ", "))")
        self.report("the letter was \(again.isJoined ? "one transfer" : "two transfers") for both who asked")
        await session.close()
        await backend.stop()
        return Outcome(order: order, isJoined: again.isJoined, answers: answers)
    }

    /// Waits until an upload is prepared and stands in line for a slot.
    private static func inLine(_ task: UploadTask) async {
        for await progress in task.progress where progress.phase == .queued { return }
    }

    private func start(
        _ name: String, _ priority: UploadPriority, _ session: UploadSession, _ url: String
    ) -> UploadTask {
        var options = UploadOptions()
        options.priority = priority
        // Two with one key are one transfer, for as long as it is under way.
        options.deduplicationKey = name
        let form: MultipartForm = [.text("TOKEN", .secret(Note.token)), .text("BUSINESSNO", name)]
        return session.start(form, to: url, options: options)
    }
}
