import Glibc

/// A dedicated thread for blocking calls. The thread pools of Swift and Dispatch have as few threads as processors, so
/// a blocking call on one of them would delay other work.
package enum BlockingThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs work on a new thread. All signals are blocked there, so that the program's own threads handle them.
    ///
    /// - Returns: Whether a thread was started.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        let work = unsafe Unmanaged.passRetained(Work(body))
        guard unsafe pthread_create(&thread, nil, runWork, work.toOpaque()) == 0 else {
            unsafe work.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// Runs work on a new thread, or on the caller's thread if none can be started.
    package static func perform(_ body: @escaping @Sendable () -> Void) {
        if !start(body) { body() }
    }

    /// Runs work on a new thread and returns its result.
    package static func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { continuation in
            perform { continuation.resume(returning: Result { () throws(Failure) in try work() }) }
        }.get()
    }

    fileprivate static func run(_ context: UnsafeMutableRawPointer?) {
        var all = sigset_t()
        unsafe sigfillset(&all)
        // Keep the signals of crashes unblocked: a blocked one would end the process without calling its handler.
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { unsafe sigdelset(&all, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
        unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
    }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe BlockingThread.run(context)
    return nil
}
