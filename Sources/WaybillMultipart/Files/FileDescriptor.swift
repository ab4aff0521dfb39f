import Glibc

/// An open file, closed exactly once: when the last one who uses it lets go. A reader that is closed while the pool
/// still reads for it therefore never pulls the descriptor away under that read.
package final class FileDescriptor: Sendable {
    package let raw: Int32

    package init(owning raw: Int32) {
        self.raw = raw
    }

    deinit {
        close(raw)
    }

    /// What the file is now.
    func status() throws(SystemError) -> stat {
        var status = stat()
        guard unsafe fstat(raw, &status) == 0 else { throw SystemError.last }
        return status
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

    /// What the system calls it: `Permission denied (errno 13)`.
    package var description: String {
        let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "unknown error"
        return "\(text) (errno \(number))"
    }
}
