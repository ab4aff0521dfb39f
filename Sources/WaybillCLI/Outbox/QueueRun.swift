import Glibc
import Waybill
import WaybillOutbox

/// Adds uploads to an outbox in pages of some dozens: prepared concurrently, stored together, and reported in order.
struct QueueRun<Upload: DurableUpload> {
    /// An upload to be queued, for one of several files or for the whole call.
    struct Entry: Sendable {
        var file: String?
        var options: EnqueueOptions
        /// The indices of parts that come from pipes, which a dry run does not read.
        var unread: Set<Int> = []
        var make: @Sendable () async -> Result<Upload, CommandFailure>
    }

    let outbox: Outbox
    let entries: [Entry]

    func run(_ report: inout QueueReport) async throws(CommandFailure) -> Exit {
        Interrupt.arm()
        Interrupt.onFirst { _ in }
        var next = 0
        while next < entries.count, Interrupt.signal == nil {
            let page = Array(entries[next..<min(entries.count, next + Self.pageSize)])
            next += page.count
            let results = try await prepared(page)
            try await add(page, results, &report)
        }
        return report.finish(signal: Interrupt.signal, of: entries.count)
    }

    private func prepared(_ page: [Entry]) async throws(CommandFailure) -> [Result<Upload, CommandFailure>] {
        var results: [Result<Upload, CommandFailure>] = []
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        try await OrderedWork(window: processors).run(page) {
            await $0.make()
        } deliver: {
            results.append($0)
        }
        return results
    }

    private func add(
        _ page: [Entry], _ results: [Result<Upload, CommandFailure>], _ report: inout QueueReport
    ) async throws(CommandFailure) {
        let uploads = results.compactMap { try? $0.get() }
        // Store uploads with the same options in one commit.
        if uploads.count == page.count, uploads.count > 1, page.allSatisfy({ $0.options == page[0].options }),
            let receipts = try await enqueueBatch(uploads, page[0].options)
        {
            for (index, receipt) in receipts.enumerated() {
                try report.add(receipt, file: page[index].file, size: Self.size(uploads[index]))
            }
            return
        }
        for (entry, result) in zip(page, results) {
            switch result {
            case .failure(let failure): try report.add(failure, file: entry.file)
            case .success(let upload):
                do throws(CommandFailure) {
                    let receipt = try await mappingOutboxErrors { () async throws(OutboxError) in
                        try await outbox.enqueue(upload, options: entry.options)
                    }
                    try report.add(receipt, file: entry.file, size: Self.size(upload))
                } catch {
                    // The error would affect the other uploads, too.
                    guard error.exit == .usage || error.exit == .source || error.exit == .sourceChanged else {
                        throw error
                    }
                    try report.add(error, file: entry.file)
                }
            }
        }
    }

    /// Stores all uploads in one commit, or returns `nil` if one of them is rejected and none was added.
    private func enqueueBatch(
        _ uploads: [Upload], _ options: EnqueueOptions
    ) async throws(CommandFailure) -> [OutboxReceipt]? {
        do throws(OutboxError) {
            return try await outbox.enqueue(contentsOf: uploads, options: options)
        } catch {
            guard error.code == .uploadRefused else { throw CommandFailure(error) }
            return nil
        }
    }

    /// Returns the total size of the files in bytes, as far as it is known.
    private static func size(_ upload: Upload) -> Int64? {
        let counts = upload.files.compactMap(\.count)
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    private static var pageSize: Int { 64 }
}

/// Reports queued uploads on standard output: a line with the number of the item, or a JSON object, for each.
struct QueueReport {
    private let console: Console
    private let json: JSONOutput?
    private let isSilent: Bool
    /// The log of the forms' images.
    private let images: ImageLog
    private let start = ContinuousClock.now
    private(set) var exit = Exit.done
    private var queued = 0
    private var kept = 0
    private var failed = 0
    private var index = 0

    init(console: Console, json: JSONOutput?, isSilent: Bool, images: ImageLog = ImageLog()) {
        (self.console, self.json, self.isSilent, self.images) = (console, json, isSilent, images)
    }

    /// Reports an upload that was added to the outbox.
    mutating func add(_ receipt: OutboxReceipt, file: String?, size: Int64?) throws(CommandFailure) {
        if receipt.isNew { queued += 1 } else { kept += 1 }
        if let json {
            try json.write(
                "queued",
                head(file) + [
                    "id": receipt.id, "isNew": receipt.isNew, "status": receipt.status.rawValue, "size": size,
                ]
                    + images.members(of: file))
        } else {
            try StandardOutput.write("\(receipt.id)\n")
        }
        if !receipt.isNew, !isSilent, json == nil {
            let finding =
                receipt.status == .delivered ? "had this key and was delivered" : "already has this key and was kept"
            console.line("\(file.map { "\($0): " } ?? "")item \(receipt.id) \(finding)")
        }
        index += 1
    }

    /// Reports an upload that can't be queued.
    mutating func add(_ failure: CommandFailure, file: String?) throws(CommandFailure) {
        failed += 1
        exit = exit.worse(failure.exit)
        console.failure("\(file.map { "\($0): " } ?? "")\(failure.message)")
        let error: JSONObject = ["code": failure.code.description, "message": failure.message]
        try json?.write("file", head(file) + ["result": "failed", "exit": failure.exit, "error": error])
        index += 1
    }

    /// Prints the summary and returns the exit status.
    mutating func finish(signal: Int32?, of count: Int) -> Exit {
        if let signal, queued + kept + failed < count { exit = .signal(signal) }
        if let json {
            let members: JSONObject = [
                "result": exit == .done ? "queued" : "failed", "exit": exit, "files": count, "queued": queued,
                "kept": kept, "failed": failed, "seconds": ContinuousClock.now - start, "signal": signal,
            ]
            return console.deliver(exit) { () throws(CommandFailure) in try json.write("summary", members) }
        }
        guard count > 1 else { return exit }
        let rest = Figures.counts([
            (kept, "already queued"), (failed, "failed"), (count - queued - kept - failed, "not queued"),
        ])
        let tail = rest.isEmpty ? "" : ", \(rest)"
        let line = "\(queued) of \(count) uploads queued\(tail)"
        if exit != .done { console.failure(line) } else if !isSilent { console.line(line) }
        return exit
    }

    private func head(_ file: String?) -> JSONObject { ["index": index, "file": file] }
}
