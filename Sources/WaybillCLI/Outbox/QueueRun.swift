import Glibc
import Waybill
import WaybillOutbox

/// Puts uploads into an outbox, some dozens at a time: made side by side, written down together, told of in their order.
struct QueueRun<Upload: DurableUpload> {
    /// What is to be queued: of a file, or the only one.
    struct Entry: Sendable {
        var file: String?
        var options: EnqueueOptions
        /// Parts that come from pipes, which a dry run does not read.
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
            let page = Array(entries[next..<min(entries.count, next + Self.together)])
            next += page.count
            let made = try await made(page)
            try await add(page, made, &report)
        }
        return report.finish(signal: Interrupt.signal, of: entries.count)
    }

    private func made(_ page: [Entry]) async throws(CommandFailure) -> [Result<Upload, CommandFailure>] {
        var made: [Result<Upload, CommandFailure>] = []
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        try await OrderedWork(window: processors).run(page) {
            await $0.make()
        } take: {
            made.append($0)
        }
        return made
    }

    private func add(
        _ page: [Entry], _ made: [Result<Upload, CommandFailure>], _ report: inout QueueReport
    ) async throws(CommandFailure) {
        let uploads = made.compactMap { try? $0.get() }
        // What is said of all alike is written down in one commit.
        if uploads.count == page.count, uploads.count > 1, page.allSatisfy({ $0.options == page[0].options }),
            let receipts = try await together(uploads, page[0].options)
        {
            for (index, receipt) in receipts.enumerated() {
                try report.add(receipt, file: page[index].file, size: Self.size(uploads[index]))
            }
            return
        }
        for (entry, result) in zip(page, made) {
            switch result {
            case .failure(let failure): try report.add(failure, file: entry.file)
            case .success(let upload):
                do throws(CommandFailure) {
                    let receipt = try await asking { () async throws(OutboxError) in
                        try await outbox.enqueue(upload, options: entry.options)
                    }
                    try report.add(receipt, file: entry.file, size: Self.size(upload))
                } catch {
                    // The others would fail likewise.
                    guard error.exit == .usage || error.exit == .source || error.exit == .sourceChanged else {
                        throw error
                    }
                    try report.add(error, file: entry.file)
                }
            }
        }
    }

    /// `nil` when one of them is refused, and none was added.
    private func together(
        _ uploads: [Upload], _ options: EnqueueOptions
    ) async throws(CommandFailure) -> [OutboxReceipt]? {
        do throws(OutboxError) {
            return try await outbox.enqueue(contentsOf: uploads, options: options)
        } catch {
            guard error.code == .uploadRefused else { throw CommandFailure(error) }
            return nil
        }
    }

    /// Bytes of files, as far as they are known.
    private static func size(_ upload: Upload) -> Int64? {
        let counts = upload.files.compactMap(\.count)
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    private static var together: Int { 64 }
}
