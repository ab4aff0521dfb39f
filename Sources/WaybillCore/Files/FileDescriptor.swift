import Glibc

/// An open file descriptor that is closed exactly once, when its last reference is released. Closing a reader therefore
/// never closes the descriptor while another thread still reads from it.
package final class FileDescriptor: Sendable {
    package let raw: Int32

    package init(owning raw: Int32) {
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// Writes all bytes, at an offset or at the current file position.
    package func write(_ bytes: [UInt8], at offset: Int64? = nil) throws(SystemError) {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
                return if let offset {
                    unsafe pwrite(raw, rest.baseAddress!, rest.count, off_t(offset + Int64(start)))
                } else {
                    unsafe Glibc.write(raw, rest.baseAddress!, rest.count)
                }
            }
            if count > 0 {
                start += count
            } else if count == 0 || errno != EINTR {
                throw count == 0 ? SystemError(ENOSPC) : .last
            }
        }
    }

    /// Writes the content to the disk (fsync(2)).
    package func synchronize() throws(SystemError) {
        guard fsync(raw) == 0 else { throw SystemError.last }
    }

    /// Writes the names in a directory to the disk. Accepts a file system that cannot synchronize directories (`EINVAL`).
    package func synchronizeDirectory() throws(SystemError) {
        do throws(SystemError) { try synchronize() } catch { guard error.number == EINVAL else { throw error } }
    }
}

/// A failed system call.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// The error of the most recent system call on this thread (`errno`).
    package static var last: SystemError { SystemError(errno) }

    /// The system's description of the error, such as `Permission denied`.
    package var text: String { unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown error" }

    /// The description with the error number: `Permission denied (errno 13)`.
    package var description: String { "\(text) (errno \(number))" }
}
