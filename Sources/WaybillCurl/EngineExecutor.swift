import WaybillCore

/// Runs jobs of Swift tasks on the engine's thread.
final class EngineExecutor: TaskExecutor {
    /// Posts a command to the engine, which is started if necessary; returns whether there is one.
    private let post: @Sendable (EngineCommand) -> Bool

    init(post: @escaping @Sendable (EngineCommand) -> Bool) {
        self.post = post
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Without a thread or descriptors for an engine, the task continues elsewhere.
        if !post(.run(job, self)) { globalConcurrentExecutor.enqueue(job) }
    }
}
