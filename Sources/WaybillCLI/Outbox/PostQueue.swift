import HTTPTypes
import Waybill
import WaybillOutbox

/// `waybill post --queue`: adds the form to the outbox.
struct PostQueue: Sendable {
    let entries: [QueueRun<DurableForm>.Entry]
    /// Strings that must not be printed.
    let secrets: [String]
    /// The log of the forms' images.
    let images: ImageLog

    /// Validates the options and reads everything that all files share. `words` are the words of the command line.
    init(_ command: PostCommand, arguments words: [String]) throws(CommandFailure) {
        try Self.checkQueueable(command)
        let queue = command.queue
        let target = Target(
            url: command.url, method: try PostPlan.method(command.request.method),
            headers: try QueueCheck.headers(command.request.header), credential: try queue.requestCredential(),
            idempotency: try queue.requestIdempotency(), resumption: try command.request.resumeOptions()?.protocol,
            isDryRun: command.output.isDryRun)
        if command.each.isEnabled {
            let plan = try EachPlan(command, arguments: words)
            entries = try Self.entries(of: plan, queue, target)
            (secrets, images) = (plan.post.secrets, plan.images)
        } else {
            try command.each.checkUnused()
            try EachPattern.rejectPlaceholders(in: try FormAssembly.arguments(command.form, inOrderOf: words))
            images = ImageLog(command.output)
            let assembly = try FormAssembly(command.form, arguments: words, isQueued: true, images: images)
            let form = MultipartForm(assembly.parts)
            let unread = try target.unread { form }
            entries = [
                QueueRun.Entry(file: nil, options: try queue.options(), unread: unread) {
                    await target.upload { () throws(CommandFailure) in form }
                }
            ]
            secrets = assembly.secrets
        }
    }

    private static func entries(
        of plan: EachPlan, _ queue: QueueOptions, _ target: Target
    ) throws(CommandFailure) -> [QueueRun<DurableForm>.Entry] {
        try queue.checkKey(of: plan.files.count)
        return try plan.files.map { (file) throws(CommandFailure) in
            let unread = try target.unread { () throws(CommandFailure) in try plan.form(for: file) }
            return QueueRun.Entry(file: file, options: try queue.options(for: file), unread: unread) {
                await target.upload { () throws(CommandFailure) in try plan.form(for: file) }
            }
        }
    }

    /// Throws for options that apply only to an upload that is sent immediately.
    private static func checkQueueable(_ command: PostCommand) throws(CommandFailure) {
        try QueueCheck.delivery(command.network, command.limits, isInsecure: command.request.insecure)
        try QueueCheck.user(command.request.user, isDigest: command.request.digest)
        try QueueCheck.url(command.url)
        let output = command.output
        let responses = [(output.output != nil, "-o"), (output.head.isIncluded, "-i"), (output.head.dump != nil, "-D")]
        if let (_, option) = responses.first(where: \.0) {
            throw .usage(
                "\(option) can't be combined with --queue. "
                    + "Print responses with waybill outbox show or waybill outbox ack.")
        }
        if command.each.parallel != nil {
            throw .usage("--parallel is not stored with an upload. Use waybill outbox run -j instead.")
        }
        if command.each.failEarly { throw .usage("--fail-early can't be combined with --queue. Leave it out.") }
    }

    /// The destination and request settings of all uploads.
    private struct Target: Sendable {
        var url: String
        var method: HTTPRequest.Method
        var headers: HTTPFields
        var credential: DurableCredential?
        var idempotency: Idempotency
        var resumption: ResumeProtocol?
        /// Whether pipes are not read.
        var isDryRun: Bool

        /// Returns the indices of the parts that are not read.
        func unread(
            _ form: () throws(CommandFailure) -> MultipartForm
        ) throws(CommandFailure) -> Set<Int> {
            isDryRun ? try form().withoutPipes.unread : []
        }

        /// Creates the upload. Images are compressed here.
        func upload(
            _ form: @Sendable () throws(CommandFailure) -> MultipartForm
        ) async -> Result<DurableForm, CommandFailure> {
            let made: MultipartForm
            do throws(CommandFailure) {
                made = isDryRun ? try form().withoutPipes.form : try form()
            } catch { return .failure(error) }
            do throws(UploadError) {
                return .success(
                    try await DurableForm(
                        made, to: url, method: method, headers: headers, credential: credential,
                        idempotency: idempotency, resumption: resumption))
            } catch {
                return .failure(CommandFailure(error))
            }
        }
    }
}

extension PostCommand {
    /// Adds the uploads of the command to the outbox.
    func enqueue(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        let plan = try PostQueue(self, arguments: CommandWords.all)
        console.hide(plan.secrets)
        if output.isDryRun {
            let dryRun = QueueDryRun(
                outbox: try queue.location.resolved().shown, entries: plan.entries, images: plan.images)
            return try await dryRun.run(console, json, isSilent: output.silent)
        }
        let outbox = try await queue.location.resolved().open()
        var report = QueueReport(console: console, json: json, isSilent: output.silent, images: plan.images)
        let exit = try await QueueRun(outbox: outbox, entries: plan.entries).run(&report)
        await outbox.close()
        return exit
    }
}
