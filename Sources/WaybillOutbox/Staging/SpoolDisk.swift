import Glibc

/// The system calls behind staged files. Tests make single ones fail.
package struct SpoolDisk: Sendable {
    /// What is asked of the disk.
    package enum Step: Sendable, Hashable, CaseIterable {
        case create, read, clone, write, sync, syncFolder
    }

    /// Asked before each step; a number makes the step fail with that `errno`.
    package var fault: (@Sendable (Step) -> Int32?)?

    package init() {}

    func create(_ path: String) throws(OutboxError) -> Int32 {
        try check(.create, path)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe open(path, flags, 0o600)
        guard file >= 0 else { throw failure(errno, path) }
        return file
    }

    /// Shares all blocks of another file, where the file system can (`FICLONE`, ioctl_ficlone(2)).
    func clone(_ source: Int32, to file: Int32) -> Bool {
        if fault?(.clone) != nil { return false }
        return ioctl(file, Self.shareBlocks, source) == 0
    }

    func write(_ bytes: ArraySlice<UInt8>, to file: Int32, _ path: String) throws(OutboxError) {
        try check(.write, path)
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress!, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { throw failure(errno, path) }
        }
    }

    func sync(_ file: Int32, _ path: String) throws(OutboxError) {
        try check(.sync, path)
        guard fsync(file) == 0 else { throw failure(errno, path) }
    }

    func syncNames(in folder: String) throws(OutboxError) {
        try check(.syncFolder, folder)
        try syncFolder(folder)
    }

    func readFailed(_ number: Int32, _ path: String) -> OutboxError {
        OutboxError(.uploadRefused, "\(path) can't be read (\(errorText(number)))")
    }

    func check(_ step: Step, _ path: String) throws(OutboxError) {
        if let number = fault?(step) { throw step == .read ? readFailed(number, path) : failure(number, path) }
    }

    private func failure(_ number: Int32, _ path: String) -> OutboxError {
        switch number {
        case ENOSPC, EDQUOT, EFBIG:
            OutboxError(.diskFull, "there is no room for \(path): make room, or let items name their files in place")
        default: OutboxError(.storageFailed, "\(path) can't be written (\(errorText(number)))")
        }
    }

    private static let shareBlocks: UInt = 0x4004_9409
}
