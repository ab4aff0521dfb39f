import GRDB
import WaybillCore

@testable import WaybillOutbox

extension SQLiteStore {
    /// Changes the limit on the file's size, for tests of full disks.
    func limit(pages: Int) async throws(OutboxError) {
        try await group.perform { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    }

    /// Writes the log into the file and releases all pages in memory, for tests of damaged files.
    func releasePages() async throws(OutboxError) {
        let queue = group.queue
        try await BlockingThread.run { () throws(OutboxError) in
            do {
                try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
                queue.releaseMemory()
            } catch {
                throw OutboxError(storage: error)
            }
        }
    }
}
