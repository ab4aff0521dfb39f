public import Dispatch
public import Waybill
import WaybillCore

extension UploadTask {
    /// Calls back with snapshots on a queue, such as the main one.
    ///
    /// A queue that is busy gets the newest one when it comes to it, not all that were missed.
    ///
    /// - Returns: The task, to go on with `.onSuccess`.
    @discardableResult
    public func onProgress(
        on queue: DispatchQueue, _ body: @escaping @Sendable (UploadProgress) -> Void
    ) -> UploadTask {
        let newest = Newest()
        return onProgress { progress in
            guard newest.put(progress) else { return }
            queue.async {
                if let progress = newest.take() { body(progress) }
            }
        }
    }

    /// Calls back once on a queue, with the end. On a serial queue that is after the last snapshot.
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

    /// Calls back once on a queue, if the upload succeeds.
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

    /// Calls back once on a queue, if the upload fails or is cancelled.
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

/// The newest snapshot that nobody has taken.
private final class Newest: Sendable {
    private let progress = Locked<UploadProgress?>(nil)

    /// - Returns: Whether nobody has been called for it yet.
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
