import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillOutbox
import WaybillStores

extension PutCommand {
    /// Puts what the command describes into the outbox.
    func enqueue(_ console: Console, _ json: JSONOutput?) async throws(CommandFailure) -> Exit {
        try refuseWhatIsForNow()
        guard let last = paths.last, paths.count >= 2 else {
            throw .usage("put takes files and a destination: waybill put FILE... oss://bucket/key.")
        }
        let destination = try PutDestination(last)
        var scan = try PutPlan.scan(Array(paths.dropLast()), to: destination, files)
        try await scan.copyPipes(isDryRun: files.isDryRun)
        if let skipped = scan.skippedLine, !output.silent { console.line(skipped) }
        if let key = queue.dedupe, !EachPattern(key).isOpen, scan.files.count > 1 {
            throw .usage("--dedupe: all files would be the same. Write {} in the key where their paths belong.")
        }
        switch destination {
        case .presigned(let url):
            let entries = try presigned(url, scan.files, console)
            return try await add(entries, to: entries.map { _ in Redaction.url(url) }, console, json)
        case .oss(let bucket, _):
            let places = scan.files.map { "oss://\(bucket)/\($0.key)" }
            return try await add(try objects(ofOSS: bucket, scan.files), to: places, console, json)
        case .qiniu(let bucket, _):
            let places = scan.files.map { "qiniu://\(bucket)/\($0.key)" }
            return try await add(try objects(ofQiniu: bucket, scan.files), to: places, console, json)
        }
    }

    private func add<Upload: DurableUpload>(
        _ entries: [QueueRun<Upload>.Entry], to places: [String], _ console: Console, _ json: JSONOutput?
    ) async throws(CommandFailure) -> Exit {
        if self.files.isDryRun {
            let rehearsal = QueueRehearsal(outbox: try queue.place.place().path, entries: entries, places: places)
            return try await rehearsal.run(console, json, isSilent: output.silent)
        }
        let outbox = try await queue.place.place().open()
        var report = QueueReport(console: console, json: json, isSilent: output.silent)
        let exit = try await QueueRun(outbox: outbox, entries: entries).run(&report)
        await outbox.close()
        return exit
    }

    /// Says what only makes sense for files that are sent now.
    func refuseWhatIsForNow() throws(CommandFailure) {
        try QueueCheck.way((request.insecure ? ["-k"] : []) + way.given + limits.times.given)
        try QueueCheck.retries(limits.retries)
        if files.failEarly { throw .usage("--fail-early: queued uploads fail each on its own. Leave it out.") }
    }

    /// Somebody signed the URL, and so there is no credential; it is kept with the upload, as safe as the outbox's folder.
    func presigned(
        _ url: String, _ files: [PutFile], _ console: Console
    ) throws(CommandFailure) -> [QueueRun<DurableFileUpload>.Entry] {
        console.hide(PutTargets.secrets(ofQueryIn: url))
        try QueueCheck.url(url)
        let headers = try QueueCheck.headers(request.header)
        let (credential, promise) = (try queue.requestCredential(), try queue.promise())
        var left: Duration?
        do throws(StoreError) {
            left = try OSSPresignedUpload(url, headers: headers).expiration.map { .seconds($0.timeIntervalSinceNow) }
        } catch {
            throw .usage(CommandFailure.sentence(error.message))
        }
        if let left, left <= .zero { throw .usage("the presigned URL has run out: ask for another.") }
        return try files.map { (file) throws(CommandFailure) in
            var options = try queue.options(for: file.path)
            // Behind its end nobody takes it any more.
            if let left { options.deadline = min(left, options.deadline ?? .seconds(7 * 86_400)) }
            return QueueRun.Entry(file: file.path, options: options, unread: file.isUnread ? [0] : []) {
                do throws(UploadError) {
                    return .success(
                        try await DurableFileUpload(
                            path: file.source, to: url, headers: headers, credential: credential, idempotency: promise,
                            sendsContentType: false))
                } catch {
                    return .failure(CommandFailure(error))
                }
            }
        }
    }
}
