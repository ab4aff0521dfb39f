public import Dispatch
public import Foundation
public import Waybill

extension UploadTask {
    /// Returns a Foundation `Progress` that follows the upload, for use in a tree of progress objects.
    ///
    /// ```swift
    /// let all = Progress(totalUnitCount: 2)
    /// all.addChild(front.foundationProgress(on: .main), withPendingUnitCount: 1)
    /// all.addChild(back.foundationProgress(on: .main), withPendingUnitCount: 1)
    /// ```
    ///
    /// The units are bytes acknowledged by the peer; a retry restarts at zero. The progress is indeterminate until the
    /// length is known. Cancelling it cancels the upload. If the upload fails, the progress stops at its current value.
    ///
    /// - Parameter queue: The serial queue on which the progress is updated. On Linux, a `Progress` must not be read
    ///   concurrently on another thread.
    /// - Returns: The progress.
    public func foundationProgress(on queue: DispatchQueue) -> Progress {
        let progress = Progress(totalUnitCount: -1)
        progress.isCancellable = true
        progress.isPausable = false
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        onProgress(on: queue) { snapshot in progress.follow(snapshot) }
        return progress
    }
}

extension Progress {
    fileprivate func follow(_ snapshot: UploadProgress) {
        if let total = snapshot.total {
            // An empty body is complete from the start, but Foundation treats 0 of 0 as unfinished.
            totalUnitCount = max(total, 1)
            let isComplete = total == 0 && snapshot.phase == .succeeded
            completedUnitCount = isComplete ? 1 : min(snapshot.acknowledged, total)
        } else {
            completedUnitCount = snapshot.acknowledged
            if snapshot.phase == .succeeded { totalUnitCount = max(snapshot.acknowledged, 1) }
        }
    }
}
