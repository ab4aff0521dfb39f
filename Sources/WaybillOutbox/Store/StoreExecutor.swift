import Dispatch

/// Runs tasks where their commits run: whoever has just been told of one goes on without a change of threads, and so does
/// the next commit that it asks for.
///
/// Only what doesn't wait belongs here. What delivers is sent back to Swift's own pool.
final class StoreExecutor: TaskExecutor {
    /// The queue that the connection's own is a part of.
    let queue = DispatchQueue(label: "waybill-outbox")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
