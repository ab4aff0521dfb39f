import Glibc

/// A generator of the system's random numbers that makes one system call for 32 numbers.
///
/// Every number is used once. All generators of the process share one buffer, which a child process finds empty after
/// `fork(2)`, so that the numbers of parent and child differ.
package struct BufferedRandomNumberGenerator: RandomNumberGenerator {
    /// Creates a generator.
    package init() {}

    /// Returns a random number.
    package mutating func next() -> UInt64 {
        guard let store = RandomStore.shared else {
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        }
        return store.take()
    }
}

/// Random numbers on a page that the kernel clears in a child process (`MADV_WIPEONFORK`, Linux 4.14).
///
/// Lock and count are on the page, too. A cleared lock is unlocked, and a cleared count means an empty buffer. The
/// child therefore neither repeats a number nor waits for a thread that it does not have.
@safe final class RandomStore: @unchecked Sendable {
    /// The buffer of the process; `nil` if the kernel does not clear pages.
    static let shared = RandomStore()

    /// `getentropy(3)` fills at most 256 bytes.
    static let capacity = 256 / MemoryLayout<UInt64>.size

    @unsafe private struct Page {
        var mutex: pthread_mutex_t
        /// The number of unused numbers.
        var count: Int
    }

    private let page: UnsafeMutablePointer<Page>
    private let numbers: UnsafeMutablePointer<UInt64>

    init?() {
        let size = sysconf(Int32(_SC_PAGESIZE))
        let offset = unsafe (MemoryLayout<Page>.size + 63) & ~63
        guard size >= offset + Self.capacity * MemoryLayout<UInt64>.stride,
            let start = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            unsafe start != MAP_FAILED
        else { return nil }
        guard unsafe madvise(start, size, MADV_WIPEONFORK) == 0 else {
            unsafe munmap(start, size)
            return nil
        }
        // All zeros: an unlocked mutex of glibc, and no numbers.
        unsafe page = start.bindMemory(to: Page.self, capacity: 1)
        unsafe numbers = (start + offset).bindMemory(to: UInt64.self, capacity: Self.capacity)
    }

    func take() -> UInt64 {
        unsafe pthread_mutex_lock(&page.pointee.mutex)
        defer { unsafe pthread_mutex_unlock(&page.pointee.mutex) }
        if unsafe page.pointee.count == 0 {
            guard unsafe getentropy(numbers, Self.capacity * MemoryLayout<UInt64>.size) == 0 else {
                var generator = SystemRandomNumberGenerator()
                return generator.next()
            }
            unsafe page.pointee.count = Self.capacity
        }
        unsafe page.pointee.count -= 1
        let index = unsafe page.pointee.count
        let number = unsafe numbers[index]
        // A used number must not be found in memory.
        unsafe numbers[index] = 0
        return number
    }
}
