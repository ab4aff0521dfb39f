import WaybillCore

// Delivery of snapshots and results to callbacks, off the transport's thread. A slow callback delays only its own next
// snapshot.

extension UploadRun {
    func onProgress(for handle: Int, _ body: @escaping @Sendable (UploadProgress) -> Void) {
        // Listen here and not in the task, so that no snapshot from now on is missed.
        let snapshots = listen(for: handle)
        let task = Task {
            for await snapshot in snapshots { body(snapshot.progress) }
        }
        addCallbackTask(task, for: handle)
    }

    func onCompletion(for handle: Int, _ body: @escaping @Sendable (Result<UploadResponse, UploadError>) -> Void) {
        let before = callbackTasks(of: handle)
        Task {
            let result = await result(for: handle)
            for task in before { await task.value }
            body(result)
        }
    }
}
