import Glibc
import Logging
import Waybill
import WaybillCore
import WaybillOutbox

/// A program whose disk fills up: it enqueues until there is no space, tries to deliver, and continues when there is
/// space again.
struct FullDisk {
    let outbox: Outbox
    let url: String
    /// A file that occupies space.
    let ballast: String
    let errorLog: ErrorLog

    func run() async throws(OutboxError) {
        var number = 0
        // First the staged bytes don't fit, then the queue itself, which fits into the remaining space.
        while await enqueue(StagedForm.make(number)) { number += 1 }
        fillRemainingSpace()
        while await enqueue([.text("ITEM", "item-\(number)-")]) { number += 1 }
        let outbox = outbox
        let delivery = Task { await Result { () async throws(OutboxError) in try await outbox.runUntilIdle() } }
        // Nothing can be leased from a queue that can't be written.
        await errorLog.count.wait { $0 >= 2 }
        FileOutput.write("nothing leased\n")
        unsafe unlink(ballast)
        unsafe unlink(ballast + ".rest")
        try await delivery.value.get()
        if await enqueue(StagedForm.make(number + 1)) { try await outbox.runUntilIdle() }
    }

    private func enqueue(_ form: MultipartForm) async -> Bool {
        do throws(OutboxError) {
            FileOutput.write("\(try await outbox.enqueue(form, to: url).id)\n")
            return true
        } catch {
            FileOutput.write("! \(error.code)\n")
            return false
        }
    }

    private func fillRemainingSpace() {
        let file = unsafe open(ballast + ".rest", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let block = [UInt8](repeating: 0, count: 4_096)
        while unsafe write(file, block, block.count) > 0 {}
        close(file)
    }
}

/// Counts the errors that the outbox logs.
final class ErrorLog: Sendable {
    let count = Observed(0)

    var logger: Logger {
        var logger = Logger(label: "errors") { _ in Handler(count: count) }
        logger.logLevel = .error
        return logger
    }

    private struct Handler: LogHandler {
        let count: Observed<Int>
        var logLevel = Logger.Level.error
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { count.update { $0 += 1 } }
    }
}

extension Result where Failure == OutboxError {
    init(_ work: () async throws(OutboxError) -> Success) async {
        do throws(OutboxError) {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
