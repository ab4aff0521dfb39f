// The rows of Docs/ComingFromTus.md, compiled: each region is the right-hand cell of the row that it is named after.
import HTTPTypes
import Waybill

private func show(_ bytes: Int64, _ total: Int64?) {}
private func log(_ text: String) {}

private func sending(
    _ session: UploadSession, _ path: String, _ endpoint: String, _ headers: HTTPFields, _ options: UploadOptions
) async throws {
    // row: new tus.Upload(file, { endpoint }), TUSClient.uploadFileAt(filePath:)
    let task = session.start(.file(path: path), to: endpoint, method: .post, options: .resumable(.tus))
    // end
    // row: upload.start(), client.start()
    let response = try await task.response
    // end
    // row: upload.url, didFinishUpload(id:url:…)
    let url = response.uploadURL
    // end
    _ = url
    // row: onSuccess
    task.onCompletion { result in log("\(result)") }
    // end
    // row: headers
    let request = UploadRequest(.post, endpoint, headers: headers, content: .file(path: path), options: options)
    session.start(request)
    // end
    // row: findPreviousUploads(), resumeFromPreviousUpload(previous)
    session.start(.file(path: path), to: endpoint, method: .post, options: options)
    // end
}

private func stream(
    _ session: UploadSession, _ chunks: AsyncStream<[UInt8]>, _ length: Int64, _ endpoint: String, _ error: UploadError
) {
    // row: new tus.Upload(reader, { uploadSize })
    session.start(.stream(chunks, length: length, replay: .fromCopy), to: endpoint, options: .resumable(.tus))
    // end
    // row: uploadLengthDeferred: true
    session.start(.stream(chunks, replay: .fromCopy), to: endpoint, options: .resumable(.tus))
    // end
    // row: onError, error.originalResponse
    let status = error.response?.status.code
    // end
    _ = status
}

// none: uploadDataDuringCreation
// none: overridePatchMethod

private func options(_ options: inout UploadOptions, _ refresher: some CredentialRefresher) {
    // row: metadata
    options.resume?.metadata = ["filename": "film.mp4", "filetype": "video/mp4"]
    // end
    // row: onBeforeRequest
    options.authentication = .refreshing(refresher)
    // end
    // row: chunkSize
    options.resume?.maximumAppend = .mebibytes(6)
    options.resume?.appendMultiple = .kibibytes(256)
    // end
    // row: parallelUploads
    options.resume?.parallelParts = 4
    // end
    // row: onShouldRetry
    options.retry.statuses = [503]
    // end
    // row: retryDelays
    options.retry = RetryPolicy(maxRetries: 10, maxDelay: .seconds(30))
    // end
    // row: urlStorage, storageDirectory
    options.resume?.records = ResumeRecordDirectory(path: "/var/lib/kiosk/uploads")
    // end
    // row: storeFingerprintForResuming: false
    options.resume?.records = nil
    // end
    // row: protocol: "ietf-draft-05"
    options.resume?.protocol = .draft
    // end
}

private func watching(_ task: UploadTask) async {
    // row: onProgress(bytesSent, bytesTotal), progressFor(id:…)
    for await progress in task.progress { show(progress.acknowledged, progress.total) }
    // end
    // row: onChunkComplete(chunkSize, bytesAccepted)
    for await progress in task.progress { show(progress.stored?.bytes ?? 0, progress.total) }
    // end
    // row: upload.abort(), client.stopAndCancelAll()
    task.pause()
    task.resume()
    // end
    // row: upload.abort(true), terminate
    task.cancel()
    // end
}
