// The samples of the page of WaybillFoundation, compiled.
import Foundation
import Waybill
import WaybillFoundation

private struct Bar: Sendable {
    func show(_ fraction: Double) {}
}

private func queued(_ url: String, _ frontForm: MultipartForm, _ backForm: MultipartForm) {
    // snippet: operations
    let queue = OperationQueue()
    let front = UploadOperation(UploadRequest(.post, url, content: .form(frontForm)))
    let back = UploadOperation(UploadRequest(.post, url, content: .form(backForm)))
    back.addDependency(front)
    queue.addOperations([front, back], waitUntilFinished: false)
    // end
}

private func calledBack(_ session: UploadSession, _ form: MultipartForm, _ url: String, _ bar: Bar) {
    // snippet: callbacks on a queue
    let task = session.start(form, to: url)
    task.onProgress(on: .main) { bar.show($0.fraction ?? 0) }
    task.onCompletion(on: .main) { result in print(result) }
    let progress = task.foundationProgress(on: .main)
    // end
    print(progress)
}
