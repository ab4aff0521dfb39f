import Glibc
import Waybill
import WaybillCore

/// The result of a backup.
public struct OutboxBackup: Sendable, Hashable, Codable {
    /// The number of items in the backup.
    public var items: Int
    /// The number of items that have not ended, which are paused in the backup.
    public var paused: Int
    /// The number of staged files in the backup.
    public var files: Int
}

extension OutboxCore {
    /// Copies the outbox into a new directory that can be opened as an outbox.
    ///
    /// The directory gets its name when it is complete and on the disk.
    func backUp(to path: String) async throws(OutboxError) -> OutboxBackup {
        guard let source = bodies as? Spool else {
            throw OutboxError(.storageFailed, "The items are in a database server. Back up the database with pg_dump.")
        }
        var status = stat()
        guard unsafe lstat(path, &status) != 0 else {
            throw OutboxError(.directoryUnusable, "\(path) exists. Choose a new directory for the backup.")
        }
        let partial = try OutboxDirectory("\(path).partial-\(UInt32.random(in: .min ... .max))")
        do throws(OutboxError) {
            let backup = try await fill(partial, from: source)
            let operations = source.operations
            try await BlockingThread.run { () throws(OutboxError) in
                try operations.syncNames(in: partial.spool)
                try syncDirectory(partial.path)
                guard unsafe rename(partial.path, path) == 0 else {
                    throw OutboxError(.storageFailed, "Could not name the backup \(path): \(errorText(errno)).")
                }
                try syncDirectory(path.lastIndex(of: "/").map { "\(path[...$0])" } ?? ".")
            }
            return backup
        } catch {
            partial.remove()
            throw error
        }
    }

    private func fill(
        _ directory: OutboxDirectory, from source: Spool
    ) async throws(OutboxError) -> OutboxBackup {
        let target = Spool(directory: directory.spool, operations: source.operations)
        // Most files are added here, while other calls continue; those that are missing are added with the queue.
        await BlockingThread.run { for name in source.fileNames() { try? target.add(name, from: source) } }
        let needed = Locked<Set<String>>([])
        try await store.copy(to: directory.queue) { names in
            for name in names { try target.add(name, from: source) }
            needed.withLock { $0 = Set(names) }
        }
        let copy = try await BlockingThread.run { () throws(OutboxError) in try SQLiteStore(path: directory.queue) }
        let result: Result<(ControlResult, OutboxTally), OutboxError> = await Result { () async throws(OutboxError) in
            let unfinished = ItemSelection(states: Set(OutboxState.allCases.filter { !$0.isTerminal }))
            return (try await copy.control(.copied, unfinished), try await copy.tally(batch: nil))
        }
        await copy.close()
        let (changed, tally) = try result.get()
        let names = needed.withLock { $0 }.subtracting(changed.freed)
        target.remove(target.fileNames().filter { !names.contains($0) })
        return OutboxBackup(items: tally.total, paused: tally[.paused], files: names.count)
    }
}

extension OutboxDirectory {
    /// Removes the directory of an incomplete backup.
    fileprivate func remove() {
        let staged = Spool(directory: spool)
        staged.remove(staged.fileNames())
        unsafe rmdir(spool)
        for suffix in ["", "-wal", "-shm", "-journal"] { unsafe unlink(queue + suffix) }
        unsafe rmdir(path)
    }
}

extension Outbox {
    /// Copies the outbox into a new directory while it is in use, also by another process.
    ///
    /// The copy has all items and their staged files at one moment, and can be opened as an outbox, also after it was
    /// moved. It delivers nothing by itself: its unfinished items are paused with the reason `copied` and counted as
    /// doubtful, because the original may deliver them. ``resume(_:)`` verifies them with their servers, as it does for
    /// any item whose outcome is unknown; ``retry(_:)`` sends them.
    ///
    /// On Btrfs and XFS, copies of staged files share the blocks of the originals. Files that items refer to outside the
    /// outbox are not part of the copy.
    ///
    /// - Parameter path: The directory, which must not exist. Requires a local file system, as for the outbox.
    /// - Returns: The number of items and files.
    /// - Throws: ``OutboxError``, also for an outbox whose items are in a database server. No directory is left then.
    /// - Complexity: Linear. While the queue file is copied, nothing is stored: about a second for 200 MB.
    @discardableResult
    public func backUp(to path: String) async throws(OutboxError) -> OutboxBackup {
        // The owner may have another working directory.
        guard case .backedUp(let backup) = try await perform(.backUp(DurableFile(path: path).path)) else {
            throw Self.unexpectedReply
        }
        return backup
    }
}
