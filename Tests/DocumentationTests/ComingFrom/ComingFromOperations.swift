// The rows of Docs/ComingFromOperations.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import Waybill
import WaybillFoundation

private struct Bar: Sendable {
    func show(_ fraction: Double?) {}
}

private func makeRequest(for photo: Int) -> UploadRequest { UploadRequest(.post, "https://backend.example/\(photo)") }
private func log(_ text: String) {}

private func kept(
    _ queue: OperationQueue, _ session: UploadSession, _ request: UploadRequest, _ front: UploadOperation,
    _ back: UploadOperation
) {
    // row: a subclass of Operation, addOperation(_:), addOperations(_:waitUntilFinished:)
    let operation = UploadOperation(request, in: session)
    queue.addOperation(operation)
    queue.addOperations([front, back], waitUntilFinished: false)
    // end
    // row: addDependency(_:)
    back.addDependency(front)
    // end
    // row: maxConcurrentOperationCount
    queue.maxConcurrentOperationCount = 2
    // end
    // row: isSuspended
    queue.isSuspended = true
    // end
    // row: queuePriority, completionBlock
    operation.queuePriority = .high
    operation.completionBlock = { log("over") }
    // end
    // row: a result property
    if case .failure(let error)? = operation.result { log(error.message) }
    // end
    // row: cancel(), cancelAllOperations()
    operation.cancel()
    queue.cancelAllOperations()
    // end
    // row: waitUntilAllOperationsAreFinished(), addBarrierBlock(_:)
    queue.waitUntilAllOperationsAreFinished()
    queue.addBarrierBlock { log("all before it are over") }
    // end
    // row: progress of a task
    operation.task?.onProgress(on: .main) { log("\($0.acknowledged)") }
    // end
}

private func replaced(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ request: UploadRequest, _ task: UploadTask, _ photos: [Int], _ path: String
) async throws {
    // row: OperationQueue(), queue.addOperation(_:)
    let queue = UploadSession(configuration: configuration)
    let started = session.start(request)
    // end
    _ = queue
    _ = started
    // row: queue.maxConcurrentOperationCount
    configuration.maximumConcurrentTransfers = 4
    configuration.maximumConcurrentTransfersPerHost = 2
    // end
    // row: queue.isSuspended = true, queue.isSuspended = false, queue.cancelAllOperations()
    session.pauseAll()
    session.resumeAll()
    session.cancelAll()
    // end
    // row: queue.operations, operationCount
    let count = session.uploads.count
    // end
    _ = count
    // row: operation.queuePriority
    options.priority = .high
    // end
    // row: operation.name
    options.tags = ["order 7"]
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // row: isReady, isExecuting, isFinished, isCancelled, KVO of isFinished, waitUntilFinished()
    let state = task.state
    task.onCompletion { result in log("\(result)") }
    let response = try await task.response
    // end
    _ = state
    _ = response
    // row: queue.waitUntilAllOperationsAreFinished()
    await session.close()
    // end
    // row: OperationQueue.progress
    let batch = session.startBatch(of: photos) { photo in makeRequest(for: photo) }
    for await progress in batch.progress { log("\(progress.fraction ?? 0)") }
    // end
    // row: a Foundation Progress
    let progress = task.foundationProgress(on: .main)
    // end
    _ = progress
    // row: a loop that adds operations
    let results = await session.uploadAll(photos) { photo in makeRequest(for: photo) }
    // end
    _ = results
    // row: addDependency(_:) with a value
    var chain = UploadChain("front", request)
    chain.then("submit") { done in UploadRequest(.post, "submit/\(done["front"]?.text ?? "")") }
    let answers = try await session.run(chain).get()
    // end
    _ = answers
    // row: adding an operation twice
    options.deduplicationKey = "card 20260117-0042 front"
    // end
    // row: a retry in main()
    options.retry = RetryPolicy(maxRetries: 5, deadline: .seconds(90))
    // end
    // row: a time limit in main()
    options.transfer.limits.total = .seconds(300)
    // end
    // none: queue.addBarrierBlock(_:)
    // none: BlockOperation
    // none: qualityOfService, threadPriority
    // none: underlyingQueue
}

private func besides(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ form: inout MultipartForm, _ url: String, _ path: String, _ bytes: [UInt8], _ chunks: AsyncStream<[UInt8]>,
    _ task: UploadTask, _ bar: Bar, _ pin: String
) async throws {
    // row: uploadTask(with:fromFile:), uploadTask(with:from:), uploadTask(withStreamedRequest:)
    session.start(.file(path: path), to: url)
    session.start(.data(bytes), to: url)
    session.start(.stream(chunks, length: nil), to: url)
    // end
    // row: a form
    form.append(.file("FILE", path: path, fileName: "front.jpg", contentType: "image/jpeg"))
    session.start(form, to: url)
    // end
    // row: urlSession(_:task:didSendBodyData:…)
    task.onProgress(on: .main) { bar.show($0.fraction) }
    // end
    // row: timeoutIntervalForRequest, httpAdditionalHeaders
    options.transfer.limits.stall = .seconds(30)
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: a code in the body
    configuration.interceptors.append(JSONEnvelope())
    // end
    // row: urlSession(_:didReceive:completionHandler:)
    options.transfer.tls.pinnedKeys = [pin]
    options.transfer.tls.certificateAuthorities = path
    // end
    // row: httpCookieStorage
    configuration.cookies = CookieJar()
    // end
    // row: connectionProxyDictionary
    options.transfer.proxy = "http://proxy.example:3128"
    // end
    // none: downloadTask(with:)
    // none: URLCache
    // none: waitsForConnectivity, NWPathMonitor
}
