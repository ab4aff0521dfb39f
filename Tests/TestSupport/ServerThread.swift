internal import Glibc

/// A dedicated thread for code that blocks and so must not use Swift's thread pool.
struct ServerThread {
    private let id: pthread_t

    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    init(_ body: @escaping @Sendable () -> Void) {
        var id = pthread_t()
        let work = unsafe Unmanaged.passRetained(Work(body))
        let code = unsafe pthread_create(
            &id, nil,
            { context in
                unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(code == 0, "a thread could not be started: errno \(code)")
        self.id = id
    }

    func join() { _ = pthread_join(id, nil) }

    /// Lets the thread end without being joined, for work whose end is reported otherwise.
    func detach() { pthread_detach(id) }
}

/// Runs blocking code on a dedicated thread and awaits it without blocking a thread of the pool.
package func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        ServerThread { continuation.resume(returning: work()) }.detach()
    }
}
