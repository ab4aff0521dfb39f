import WaybillCore

/// Delivers snapshots and results to callbacks, off the transport's thread. A slow callback delays only its own next
/// snapshot.
final class CallbackDispatcher: Sendable {
    private let pumps = Locked<[Int: [Task<Void, Never>]]>([:])

    func onProgress(of run: UploadRun, for handle: Int, _ body: @escaping @Sendable (UploadProgress) -> Void) {
        // Listen here and not in the task, so that no snapshot from now on is missed.
        let snapshots = run.listen(for: handle)
        let pump = Task {
            for await progress in snapshots { body(progress) }
        }
        pumps.withLock { $0[handle, default: []].append(pump) }
    }

    func onCompletion(
        of run: UploadRun, for handle: Int, _ body: @escaping @Sendable (Result<UploadResponse, UploadError>) -> Void
    ) {
        let before = pumps.withLock { $0[handle] ?? [] }
        Task {
            let result = await run.result(for: handle)
            for pump in before { await pump.value }
            body(result)
        }
    }
}
