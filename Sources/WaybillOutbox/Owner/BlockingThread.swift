import Glibc

/// A thread of its own, for calls that wait. Neither Swift's pool nor Dispatch's has threads to spare for that: they are as
/// few as the processors, and whoever waits on one keeps others from running.
enum BlockingThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs work on a new thread. Where none can be had, it is done at once: late is better than never.
    static func start(_ body: @escaping @Sendable () -> Void) {
        var id = pthread_t()
        let work = unsafe Unmanaged.passRetained(Work(body))
        let code = unsafe pthread_create(&id, nil, runWork, work.toOpaque())
        guard code == 0 else {
            unsafe work.release()
            return body()
        }
        pthread_detach(id)
    }

    fileprivate static func run(_ context: UnsafeMutableRawPointer?) {
        // Signals belong to the program's own threads.
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
        unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
    }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe BlockingThread.run(context)
    return nil
}

/// Runs what blocks on a thread that may.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        BlockingThread.start { continuation.resume(returning: work()) }
    }
}
