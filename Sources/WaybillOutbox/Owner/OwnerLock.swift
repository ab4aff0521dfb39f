import Glibc

/// The right to open the queue: a lock on a file (flock(2)) that the kernel takes back when the process ends, however it
/// ends. So a lease needs no clock: whoever gets the lock knows that everybody before is gone.
final class OwnerLock: Sendable {
    /// A new one for each owner. Rows that are leased under another one belong to somebody who is gone.
    let token: String
    private let descriptor: Int32

    /// Takes the lock.
    ///
    /// - Returns: `nil` when somebody else has it.
    static func take(_ folder: OutboxFolder) throws(OutboxError) -> OwnerLock? {
        let descriptor = unsafe open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw OutboxError(.folderUnusable, "\(folder.lock) can't be opened (\(errorText(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            if number == EWOULDBLOCK { return nil }
            throw OutboxError(.fileSystemRefused, "\(folder.lock) can't be locked (\(errorText(number)))")
        }
        return OwnerLock(descriptor)
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        let halves = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
        token = halves.map { String($0, radix: 36) }.joined(separator: "-")
    }

    deinit { close(descriptor) }

    /// Whether a queue was made in this folder: one byte in the file of the lock.
    var hasQueue: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_size > 0
    }

    /// Notes that a queue was made. An empty queue file is then one that lost what was in it.
    func noteQueue() throws(OutboxError) {
        guard !hasQueue else { return }
        guard unsafe write(descriptor, "q", 1) == 1, fsync(descriptor) == 0 else {
            throw OutboxError(.storageFailed, "the outbox can't be marked as used (\(errorText(errno)))")
        }
    }
}
