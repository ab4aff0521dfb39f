public import Dispatch
public import Foundation
public import Waybill

extension UploadTask {
    /// A Foundation `Progress` that follows the upload, for code that adds such up.
    ///
    /// ```swift
    /// let all = Progress(totalUnitCount: 2)
    /// all.addChild(front.foundationProgress(on: .main), withPendingUnitCount: 1)
    /// all.addChild(back.foundationProgress(on: .main), withPendingUnitCount: 1)
    /// ```
    ///
    /// Its units are bytes that the peer acknowledged; with a retry they start again. It is indeterminate until the length is
    /// known. Cancelling it cancels the upload. When the upload fails it stays where it is.
    ///
    /// - Parameter queue: Where it is changed: a serial queue. On Linux a `Progress` is not safe to be read elsewhere at the
    ///   same time.
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
            // An empty body is whole from the start, and Foundation takes 0 of 0 for unfinished.
            totalUnitCount = max(total, 1)
            let isWhole = total == 0 && snapshot.phase == .succeeded
            completedUnitCount = isWhole ? 1 : min(snapshot.acknowledged, total)
        } else {
            completedUnitCount = snapshot.acknowledged
            if snapshot.phase == .succeeded { totalUnitCount = max(snapshot.acknowledged, 1) }
        }
    }
}
