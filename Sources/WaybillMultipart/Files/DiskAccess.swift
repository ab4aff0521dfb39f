import CWaybillFiles
import Glibc
import WaybillCore

/// The system calls that read a source file. Each has two forms: one that never waits and may return `nil`, and one for
/// the pool, which waits.
package struct DiskAccess: Sendable {
    package enum Step: Sendable, Hashable {
        case open, read, send, check, verify
    }

    /// If `false`, all operations run on the pool, as on file systems that cannot report whether they would wait.
    package var allowsNonblocking = true
    /// Called before each step; a non-`nil` result makes the step fail with that `errno`. For tests.
    package var fault: (@Sendable (Step) -> Int32?)?

    package init() {}

    // MARK: Never waiting

    /// Opens the file if every path component is in the dentry cache (`RESOLVE_CACHED`).
    func openNow(_ source: SourceFile) throws(BodyError) -> FileDescriptor? {
        if let descriptor = source.openDescriptor { return descriptor }
        guard allowsNonblocking else { return nil }
        let raw = unsafe SystemPath.with(source.path) { unsafe wb_open_cached($0, O_RDONLY | O_NONBLOCK | O_NOCTTY) }
        guard raw >= 0 else { return nil }
        return try accept(FileDescriptor(owning: raw), source)
    }

    /// Reads bytes in the page cache. Returns the number of bytes, 0 at the end of the file, or a negated `errno`.
    func readNow(_ descriptor: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard let start = buffer.baseAddress else { return 0 }
        if let number = fault?(.read) { return -Int(number) }
        return unsafe wb_pread_nowait(descriptor.raw, start, buffer.count, off_t(offset))
    }

    /// Sends bytes that are in the page cache. Returns the number of bytes that the socket accepted, or a negated
    /// `errno`: `ENODATA` if the bytes are not in memory.
    func sendNow(_ descriptor: FileDescriptor, _ count: Int, at offset: Int64, into socket: Int32) -> Int {
        if let number = fault?(.send) { return -Int(number) }
        return wb_send_cached(socket, descriptor.raw, off_t(offset), count)
    }

    /// Checks that the path still refers to the unchanged file. Returns `false` if the check would have to wait.
    func verifyNow(_ source: SourceFile) throws(BodyError) -> Bool {
        guard allowsNonblocking else { return false }
        var status = stat()
        guard unsafe SystemPath.with(source.path, { unsafe wb_stat_cached($0, &status) }) == 0 else { return false }
        try injectFault(.verify, source)
        try compare(status, source)
        return true
    }

    // MARK: Waiting, on the pool

    func open(_ source: SourceFile) throws(BodyError) -> FileDescriptor {
        if let descriptor = source.openDescriptor { return descriptor }
        let raw = unsafe SystemPath.with(source.path) {
            unsafe Glibc.open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        }
        guard raw >= 0 else { throw pathFailure(source, SystemError.last) }
        return try accept(FileDescriptor(owning: raw), source)
    }

    func read(
        _ descriptor: FileDescriptor, _ source: SourceFile, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(BodyError) -> Int {
        try injectFault(.read, source)
        while true {
            let count = unsafe pread(descriptor.raw, buffer.baseAddress, buffer.count, off_t(offset))
            if count > 0 { return count }
            if count == 0 { throw endedEarly(descriptor, source) }
            guard errno == EINTR else { throw source.failed(SystemError.last) }
        }
    }

    func verify(_ source: SourceFile) throws(BodyError) {
        try injectFault(.verify, source)
        try checkPath(source)
    }

    private func checkPath(_ source: SourceFile) throws(BodyError) {
        var status = stat()
        guard unsafe SystemPath.with(source.path, { unsafe stat($0, &status) }) == 0 else {
            throw pathFailure(source, SystemError.last)
        }
        try compare(status, source)
    }

    // MARK: Both

    /// Compares an open file with its recorded state.
    func check(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) {
        try injectFault(.check, source)
        try compare(descriptor, source)
    }

    /// The error for a file that ended before its recorded size.
    func endedEarly(_ descriptor: FileDescriptor, _ source: SourceFile) -> BodyError {
        do {
            try compare(descriptor, source)
        } catch {
            return error
        }
        return BodyError(
            .readFailed, "Reading \(source.path) yielded fewer bytes than its size of \(source.stamp.size) bytes.",
            at: source.location, path: source.path)
    }

    private func accept(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) -> FileDescriptor {
        try injectFault(.open, source)
        try compare(descriptor, source)
        return descriptor
    }

    private func compare(_ descriptor: FileDescriptor, _ source: SourceFile) throws(BodyError) {
        guard source.openDescriptor == nil else { return }
        let status: stat
        do {
            status = try descriptor.status()
        } catch {
            throw source.failed(error)
        }
        let now = FileStamp(status)
        guard let change = source.stamp.change(to: now) else { return }
        // Removing a file's name changes the file, too; the path shows which of the two occurred. The upload has failed
        // already, so the wait does not matter.
        try checkPath(source)
        throw source.changed(change, to: now.size)
    }

    private func compare(_ status: stat, _ source: SourceFile) throws(BodyError) {
        let now = FileStamp(status)
        if let change = source.stamp.change(to: now) { throw source.changed(change, to: now.size) }
    }

    private func injectFault(_ step: Step, _ source: SourceFile) throws(BodyError) {
        if let number = fault?(step) { throw source.failed(SystemError(number)) }
    }

    private func pathFailure(_ source: SourceFile, _ error: SystemError) -> BodyError {
        error.number == ENOENT || error.number == ENOTDIR ? source.changed(.removed) : source.failed(error)
    }
}
