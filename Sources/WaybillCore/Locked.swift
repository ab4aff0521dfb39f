package import Glibc

/// A value behind a mutex.
///
/// It is `pthread_mutex_t` and not `Synchronization.Mutex`, because the thread sanitizer cannot see into the
/// latter on Linux: every contended hand-over of a `Mutex` is reported as a race, and real races drown.
/// Uncontended it costs about 6 ns.
///
/// ```swift
/// let count = Locked(0)
/// count.withLock { $0 += 1 }
/// ```
@safe package struct Locked<Value>: ~Copyable, @unchecked Sendable {
    // Inlinable, because this is called thirty times an upload: as a generic function of another module each call would go
    // by the value's witnesses.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ initial: sending Value) {
        // One block for both: an upload has a handful of these.
        let offset = Self.offset
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size, alignment: Self.alignment)
        unsafe mutex = block.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        unsafe value = (block + offset).bindMemory(to: Value.self, capacity: 1)
        unsafe value.initialize(to: initial)
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe value.deinitialize(count: 1)
        unsafe UnsafeMutableRawPointer(mutex).deallocate()
    }

    private static var alignment: Int {
        unsafe max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<Value>.alignment)
    }
    private static var offset: Int {
        let mask = MemoryLayout<Value>.alignment - 1
        return unsafe (MemoryLayout<pthread_mutex_t>.size + mask) & ~mask
    }

    /// Runs `body` alone with the value. Call nothing of the user's in it: a lock held over foreign code is a
    /// deadlock waiting for its day.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}
