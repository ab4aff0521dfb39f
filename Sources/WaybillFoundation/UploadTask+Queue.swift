public import Dispatch
public import Waybill
import WaybillCore

extension UploadTask {
    /// Calls a closure with progress snapshots on a queue, such as the main queue.
    ///
    /// A busy queue receives the latest snapshot when it becomes available, not all intermediate ones.
    ///
    /// - Returns: The task, for chaining with `.onSuccess`.
    @discardableResult
    public func onProgress(
        on queue: DispatchQueue, _ body: @escaping @Sendable (UploadProgress) -> Void
    ) -> UploadTask {
        let latest = LatestProgress()
        return onProgress { progress in
            guard latest.put(progress) else { return }
            queue.async {
                if let progress = latest.take() { body(progress) }
            }
        }
    }

    /// Calls a closure once on a queue with the result. On a serial queue, this follows the last snapshot.
    ///
    /// - Returns: The task.
    @discardableResult
    public func onCompletion(
        on queue: DispatchQueue, _ body: @escaping @Sendable (Result<UploadResponse, UploadError>) -> Void
    ) -> UploadTask {
        onCompletion { result in
            queue.async { body(result) }
        }
    }

    /// Calls a closure once on a queue if the upload succeeds.
    ///
    /// - Returns: The task.
    @discardableResult
    public func onSuccess(
        on queue: DispatchQueue, _ body: @escaping @Sendable (UploadResponse) -> Void
    ) -> UploadTask {
        onCompletion(on: queue) { result in
            if case .success(let response) = result { body(response) }
        }
    }

    /// Calls a closure once on a queue if the upload fails or is cancelled.
    ///
    /// - Returns: The task.
    @discardableResult
    public func onFailure(
        on queue: DispatchQueue, _ body: @escaping @Sendable (UploadError) -> Void
    ) -> UploadTask {
        onCompletion(on: queue) { result in
            if case .failure(let error) = result { body(error) }
        }
    }
}

/// The latest snapshot that was not delivered yet.
private final class LatestProgress: Sendable {
    private let progress = Locked<UploadProgress?>(nil)

    /// - Returns: Whether a delivery has to be scheduled, because none is pending.
    func put(_ new: UploadProgress) -> Bool {
        progress.withLock { progress in
            defer { progress = new }
            return progress == nil
        }
    }

    func take() -> UploadProgress? {
        progress.withLock { $0.take() }
    }
}
