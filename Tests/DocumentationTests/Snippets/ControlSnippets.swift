import Waybill

private func pauses(_ session: UploadSession, _ form: MultipartForm, _ url: String) {
    // snippet: pause and resume
    let task = session.start(form, to: url)
    task.pause()
    task.resume()
    // end
}

private func all(_ session: UploadSession) {
    // snippet: all at once
    session.pauseAll()
    session.resumeAll()
    session.cancelAll()
    // end
}

private func groups(_ session: UploadSession, _ form: MultipartForm, _ url: String) {
    // snippet: groups and tags
    var options = UploadOptions()
    options.group = "thumbnails"
    options.tags = ["order 7"]
    session.start(form, to: url, options: options)

    let thumbnails = session.group("thumbnails")
    thumbnails.maximumConcurrentTransfers = 2
    thumbnails.limit(to: .kibibytes(200))
    thumbnails.pause()

    for upload in session.uploads(taggedWith: "order 7") { upload.priority = .high }
    // end
}

private func rates(_ session: UploadSession, _ task: UploadTask) {
    // snippet: live rates
    session.limit(to: .mebibytes(1))
    session.group("thumbnails").limit(to: .kibibytes(200))
    task.limit(to: .kibibytes(50))
    session.limit(to: nil)
    // end
}

private func joined(_ session: UploadSession, _ form: MultipartForm, _ url: String, _ options: inout UploadOptions) {
    // snippet: the same upload twice
    options.deduplicationKey = "card 20260117-0042 front"
    let first = session.start(form, to: url, options: options)
    let second = session.start(form, to: url, options: options)
    print(second.isJoined)  // true: one transfer, two tasks
    second.cancel()  // the first continues
    // end
    _ = first
}
