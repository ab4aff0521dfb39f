import Glibc

/// An open file, closed exactly once: when its last user releases it. A reader that is closed while a thread still reads
/// for it therefore never closes the descriptor under that read.
package final class FileDescriptor: Sendable {
    package let raw: Int32

    package init(owning raw: Int32) {
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// Writes all bytes, at an offset or at the file's position.
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
    package func synchronizeNames() throws(SystemError) {
        do throws(SystemError) { try synchronize() } catch { guard error.number == EINVAL else { throw error } }
    }
}

/// A failed system call.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// The failure of the call just made.
    package static var last: SystemError { SystemError(errno) }

    /// What the system calls it: `Permission denied`.
    package var text: String { unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown error" }

    /// The text and the number: `Permission denied (errno 13)`.
    package var description: String { "\(text) (errno \(number))" }
}
