import Glibc
import WaybillCore

/// The system calls for staged files. Tests inject faults into them.
package struct SpoolFileOperations: Sendable {
    /// A file operation.
    package enum Step: Sendable, Hashable, CaseIterable {
        case create, read, clone, write, sync, syncDirectory
    }

    /// Called before each step; a non-`nil` result makes the step fail with that `errno`.
    package var fault: (@Sendable (Step) -> Int32?)?

    package init() {}

    func create(_ path: String) throws(OutboxError) -> AtomicFile {
        try attempt(.create, path) { () throws(SystemError) in try AtomicFile.named(path) }
    }

    /// Shares all blocks of another file if the file system supports it (`FICLONE`, ioctl_ficlone(2)).
    func clone(_ source: FileDescriptor, to file: AtomicFile) -> Bool {
        if fault?(.clone) != nil { return false }
        return ioctl(file.descriptor.raw, Self.shareBlocks, source.raw) == 0
    }

    func write(_ bytes: [UInt8], to file: AtomicFile, _ path: String) throws(OutboxError) {
        try attempt(.write, path) { () throws(SystemError) in try file.append(bytes) }
    }

    func sync(_ file: AtomicFile, _ path: String) throws(OutboxError) {
        try attempt(.sync, path) { () throws(SystemError) in try file.synchronize() }
    }

    func syncNames(in directory: String) throws(OutboxError) {
        try check(.syncDirectory, directory)
        try syncDirectory(directory)
    }

    func readFailed(_ number: Int32, _ path: String) -> OutboxError {
        OutboxError(.uploadRefused, "Could not read \(path): \(errorText(number)).")
    }

    func check(_ step: Step, _ path: String) throws(OutboxError) {
        if let number = fault?(step) { throw step == .read ? readFailed(number, path) : failure(number, path) }
    }

    private func attempt<Value>(
        _ step: Step, _ path: String, _ call: () throws(SystemError) -> Value
    ) throws(OutboxError) -> Value {
        try check(step, path)
        do {
            return try call()
        } catch {
            throw failure(error.number, path)
        }
    }

    private func failure(_ number: Int32, _ path: String) -> OutboxError {
        switch number {
        case ENOSPC, EDQUOT, EFBIG:
            OutboxError(.diskFull, "No space left for \(path). Free disk space, or enqueue files by reference.")
        default: OutboxError(.storageFailed, "Could not write \(path): \(errorText(number)).")
        }
    }

    private static let shareBlocks: UInt = 0x4004_9409
}
