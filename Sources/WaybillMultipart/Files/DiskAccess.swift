import CWaybillFiles
import Glibc
import WaybillCore

/// The system calls that read a source file, each in two forms: one that never waits and may answer `nil`, and one for
/// the pool that waits.
package struct DiskAccess: Sendable {
    /// What is asked of the disk.
    package enum Step: Sendable, Hashable {
        case open, read, send, check, verify
    }

    /// False: everything goes through the pool, as it does on file systems that can't tell whether they would wait.
    package var mayAvoidPool = true
    /// Asked before each step; a number makes the step fail with that `errno`. For tests.
    package var fault: (@Sendable (Step) -> Int32?)?

    package init() {}

    // MARK: Never waiting

    /// Opens the file if the kernel knows the whole path by heart.
    func openNow(_ source: SourceFile) throws(BodyError) -> FileDescriptor? {
        if let held = source.held { return held }
        guard mayAvoidPool else { return nil }
        let raw = unsafe SystemPath.with(source.path) { unsafe wb_open_cached($0, O_RDONLY | O_NONBLOCK | O_NOCTTY) }
        guard raw >= 0 else { return nil }
        return try accept(FileDescriptor(owning: raw), source)
    }

    /// Reads what is in memory: the number of bytes, 0 at the end of the file, or a negated `errno`.
    func readNow(_ descriptor: FileDescriptor, into room: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard let start = room.baseAddress else { return 0 }
        if let number = fault?(.read) { return -Int(number) }
        return unsafe wb_pread_nowait(descriptor.raw, start, room.count, off_t(offset))
    }

    /// Sends what is in memory: how many bytes the socket took, or a negated `errno`, `ENODATA` for what is not in memory.
    func sendNow(_ descriptor: FileDescriptor, _ count: Int, at offset: Int64, into socket: Int32) -> Int {
        if let number = fault?(.send) { return -Int(number) }
        return wb_send_cached(socket, descriptor.raw, off_t(offset), count)
    }

    /// Looks whether the path still leads to the unchanged file; false: that would wait.
    func verifyNow(_ source: SourceFile) throws(BodyError) -> Bool {
        guard mayAvoidPool else { return false }
        var status = stat()
        guard unsafe SystemPath.with(source.path, { unsafe wb_stat_cached($0, &status) }) == 0 else { return false }
        try injectFault(.verify, source)
        try compare(status, source)
        return true
    }

    // MARK: Waiting, on the pool

    func open(_ source: SourceFile) throws(BodyError) -> FileDescriptor {
        if let held = source.held { return held }
        let raw = unsafe SystemPath.with(source.path) {
            unsafe Glibc.open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        }
        guard raw >= 0 else { throw gone(source, SystemError.last) }
        return try accept(FileDescriptor(owning: raw), source)
    }

    func read(
        _ descriptor: FileDescriptor, _ source: SourceFile, into room: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(BodyError) -> Int {
        try injectFault(.read, source)
        while true {
            let count = unsafe pread(descriptor.raw, room.baseAddress, room.count, off_t(offset))
            if count > 0 { return count }
            if count == 0 { throw endedEarly(descriptor, source) }
            guard errno == EINTR else { throw source.failed(SystemError.last) }
        }
    }

    func verify(_ source: SourceFile) throws(BodyError) {
        try injectFault(.verify, source)
        try look(source)
    }

    private func look(_ source: SourceFile) throws(BodyError) {
        var status = stat()
        guard unsafe SystemPath.with(source.path, { unsafe stat($0, &status) }) == 0 else {
            throw gone(source, SystemError.last)
        }
        try compare(status, source)
    }

    // MARK: Both

    /// Compares an open file with what was promised.
    func check(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) {
        try injectFault(.check, source)
        try compare(descriptor, source)
    }

    /// The error for a file that ended before its promised size.
    func endedEarly(_ descriptor: FileDescriptor, _ source: SourceFile) -> BodyError {
        do {
            try compare(descriptor, source)
        } catch {
            return error
        }
        return BodyError(
            .readFailed, "\(source.path) yields fewer bytes than its size of \(source.stamp.size) says.",
            at: source.place, path: source.path)
    }

    private func accept(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) -> FileDescriptor {
        try injectFault(.open, source)
        try compare(descriptor, source)
        return descriptor
    }

    private func compare(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) {
        guard source.held == nil else { return }
        let status: stat
        do {
            status = try descriptor.status()
        } catch {
            throw source.failed(error)
        }
        let now = FileStamp(status)
        guard let change = source.stamp.change(to: now) else { return }
        // Losing its name changes a file, too; the path tells which it was. It is too late to save a wait.
        try look(source)
        throw source.changed(change, to: now.size)
    }

    private func compare(_ status: stat, _ source: SourceFile) throws(BodyError) {
        let now = FileStamp(status)
        if let change = source.stamp.change(to: now) { throw source.changed(change, to: now.size) }
    }

    private func injectFault(_ step: Step, _ source: SourceFile) throws(BodyError) {
        if let number = fault?(step) { throw source.failed(SystemError(number)) }
    }

    private func gone(_ source: SourceFile, _ error: SystemError) -> BodyError {
        error.number == ENOENT || error.number == ENOTDIR ? source.changed(.removed) : source.failed(error)
    }
}
