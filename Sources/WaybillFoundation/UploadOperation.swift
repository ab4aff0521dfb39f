public import Foundation
public import Waybill
import WaybillCore

/// An upload as an `Operation`, for programs that queue their work in an `OperationQueue`.
///
/// ```swift
/// let queue = OperationQueue()
/// let front = UploadOperation(UploadRequest(.post, url, content: .form(frontForm)))
/// let back = UploadOperation(UploadRequest(.post, url, content: .form(backForm)))
/// back.addDependency(front)
/// queue.addOperations([front, back], waitUntilFinished: false)
/// ```
///
/// The upload is started in its session when the queue starts the operation, and the operation is finished when the upload
/// has ended; meanwhile it blocks no thread. Cancelling it cancels the upload. The session's slots bound it as well.
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

    /// An operation that has not begun.
    public init(_ request: UploadRequest, in session: UploadSession = .shared) {
        self.request = request
        self.session = session
        super.init()
    }

    /// The answer, or why there is none; `nil` before the end.
    public var result: Result<UploadResponse, UploadError>? { state.withLock { $0.result } }

    /// The handle of the upload; `nil` before the queue started the operation.
    public var task: UploadTask? { state.withLock { $0.task } }

    /// It is: `start()` returns at once.
    public override var isAsynchronous: Bool { true }
    /// Whether the upload was started and has not ended.
    public override var isExecuting: Bool { state.withLock { $0.isExecuting } }
    /// Whether the upload has ended, or was cancelled before it began.
    public override var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Starts the upload. The queue calls it.
    public override func start() {
        guard !isCancelled else {
            return finish(
                .failure(
                    UploadError(.cancelled, "the operation was cancelled before its turn", phase: .cancelled)))
        }
        willChangeValue(for: \.isExecuting)
        state.withLock { $0.isExecuting = true }
        didChangeValue(for: \.isExecuting)
        let task = session.start(request)
        state.withLock { $0.task = task }
        // It may have been cancelled before the task was there to be cancelled.
        if isCancelled { task.cancel() }
        task.onCompletion { [self] result in finish(result) }
    }

    /// Cancels the upload, or keeps it from being started.
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
