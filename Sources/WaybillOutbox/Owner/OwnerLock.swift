import Glibc

/// The exclusive right to open the queue: a flock(2) lock, which the kernel releases when the process ends for whatever
/// reason. Leases therefore need no clock: a process that acquires the lock knows that all previous owners have ended.
final class OwnerLock: Sendable {
    /// A unique token per owner. Rows leased under another token belong to an owner that has ended.
    let token: String
    private let descriptor: Int32

    /// Acquires the lock.
    ///
    /// - Returns: `nil` if another process holds it.
    static func acquire(_ directory: OutboxDirectory) throws(OutboxError) -> OwnerLock? {
        let descriptor = unsafe open(directory.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw OutboxError(.directoryUnusable, "Could not open \(directory.lock): \(errorText(errno)).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            if number == EWOULDBLOCK { return nil }
            throw OutboxError(.fileSystemRefused, "Could not lock \(directory.lock): \(errorText(number)).")
        }
        return OwnerLock(descriptor)
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        token = RandomName.make()
    }

    deinit { close(descriptor) }

    /// Whether a queue was created in this directory: recorded as one byte in the lock file.
    var hasQueue: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_size > 0
    }

    /// Records that a queue was created. From then on, an empty queue file means that its content was lost.
    func recordQueue() throws(OutboxError) {
        guard !hasQueue else { return }
        guard unsafe write(descriptor, "q", 1) == 1, fsync(descriptor) == 0 else {
            throw OutboxError(.storageFailed, "Could not write the lock file of the outbox: \(errorText(errno)).")
        }
    }
}
