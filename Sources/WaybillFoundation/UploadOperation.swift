public import Foundation
public import Waybill
import WaybillCore

/// An upload as an `Operation`, for programs that use an `OperationQueue`.
///
/// ```swift
/// let queue = OperationQueue()
/// let front = UploadOperation(UploadRequest(.post, url, content: .form(frontForm)))
/// let back = UploadOperation(UploadRequest(.post, url, content: .form(backForm)))
/// back.addDependency(front)
/// queue.addOperations([front, back], waitUntilFinished: false)
/// ```
///
/// The upload starts in its session when the queue starts the operation, and the operation finishes when the upload has
/// ended; meanwhile it blocks no thread. Cancelling the operation cancels the upload. The number of concurrent uploads
/// is also limited by the slots of the session.
public final class UploadOperation: Operation, @unchecked Sendable {
    private struct State {
        var isExecuting = false
        var isFinished = false
        var task: UploadTask?
        var result: Result<UploadResponse, UploadError>?
    }

    private let session: UploadSession
    private let request: UploadRequest
    private let state = Locked(State())

    /// Creates an operation that has not been started.
    public init(_ request: UploadRequest, in session: UploadSession = .shared) {
        self.request = request
        self.session = session
        super.init()
    }

    /// The response or the error of the upload; `nil` before its end.
    public var result: Result<UploadResponse, UploadError>? { state.withLock { $0.result } }

    /// The handle of the upload; `nil` before the queue has started the operation.
    public var task: UploadTask? { state.withLock { $0.task } }

    /// Always `true`: `start()` returns immediately.
    public override var isAsynchronous: Bool { true }
    /// A Boolean value that indicates whether the upload was started and has not ended.
    public override var isExecuting: Bool { state.withLock { $0.isExecuting } }
    /// A Boolean value that indicates whether the upload has ended, or was cancelled before it started.
    public override var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Starts the upload. Called by the queue.
    public override func start() {
        guard !isCancelled else {
            return finish(
                .failure(
                    UploadError(.cancelled, "The operation was cancelled before it started.", phase: .cancelled)))
        }
        willChangeValue(for: \.isExecuting)
        state.withLock { $0.isExecuting = true }
        didChangeValue(for: \.isExecuting)
        let task = session.start(request)
        state.withLock { $0.task = task }
        // The operation may have been cancelled before the task was stored.
        if isCancelled { task.cancel() }
        task.onCompletion { [self] result in finish(result) }
    }

    /// Cancels the upload, or prevents it from starting.
    public override func cancel() {
        super.cancel()
        task?.cancel()
    }

    private func finish(_ result: Result<UploadResponse, UploadError>) {
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        state.withLock { state in
            state.result = result
            state.isExecuting = false
            state.isFinished = true
        }
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}
