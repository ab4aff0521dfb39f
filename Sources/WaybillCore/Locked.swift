public import Glibc

/// A value protected by a mutex.
///
/// It uses `pthread_mutex_t` instead of `Synchronization.Mutex`, because ThreadSanitizer does not recognize the latter
/// on Linux: it reports each contended `Mutex` as a race and hides real ones. An uncontended lock costs about 6 ns.
///
/// ```swift
/// let count = Locked(0)
/// count.withLock { $0 += 1 }
/// ```
@safe @usableFromInline package struct Locked<Value>: ~Copyable, @unchecked Sendable {
    // Inlinable, because an upload calls `withLock` about forty times; an unspecialized generic call into another
    // module would go through the value's witness table each time. `@inlinable` has no effect on members of a package
    // type unless the type is `@usableFromInline`, which requires the public import above.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    @inlinable package init(_ initial: consuming sending Value) {
        // One allocation for both: an upload has several of these.
        let offset = Self.offset
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size, alignment: Self.alignment)
        unsafe mutex = block.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        unsafe value = (block + offset).bindMemory(to: Value.self, capacity: 1)
        unsafe value.initialize(to: initial)
        unsafe pthread_mutex_init(mutex, nil)
    }

    @inlinable deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe value.deinitialize(count: 1)
        unsafe UnsafeMutableRawPointer(mutex).deallocate()
    }

    @inlinable static var alignment: Int {
        unsafe max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<Value>.alignment)
    }
    @inlinable static var offset: Int {
        let mask = MemoryLayout<Value>.alignment - 1
        return unsafe (MemoryLayout<pthread_mutex_t>.size + mask) & ~mask
    }

    /// Calls `body` with exclusive access to the value. Never call user code in `body`: running foreign code while
    /// holding a lock risks a deadlock.
    @inlinable @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}
