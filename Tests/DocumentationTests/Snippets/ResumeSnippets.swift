// The samples of the page about resumable uploads, compiled.
import Waybill
import WaybillStores

private func resumable(_ session: UploadSession, _ form: MultipartForm, _ url: String) async throws {
    // snippet: resumable
    let response = try await session.upload(form, to: url, options: .resumable())
    // end
    print(response)
}

private func stored(_ task: UploadTask) async {
    // snippet: stored by the server
    for await progress in task.progress {
        if let stored = progress.stored { print("stored by the server: \(stored.bytes) bytes") }
    }
    // end
}

private func records() -> UploadOptions {
    // snippet: records
    var options = UploadOptions.resumable()
    options.resume?.records = ResumeRecordDirectory(path: "/var/lib/kiosk/uploads")
    // end
    return options
}

private func recording(_ session: UploadSession, _ chunks: AsyncStream<[UInt8]>, _ url: String) async throws {
    // snippet: resumable stream
    let recording = UploadContent.stream(chunks, contentType: "audio/ogg", replay: .fromCopy)
    let response = try await session.upload(recording, to: url, options: .resumable())
    // end
    print(response)
}

private func checksums(_ options: UploadOptions) {
    var options = options
    // snippet: checksums of appends
    options.resume?.checksums = [.sha256, .sha1]  // import WaybillStores
    // end
}

private func durable(_ form: MultipartForm, _ url: String) async throws {
    // snippet: resumable delivery
    let form = try await DurableForm(form, to: url, resumption: .draft)
    // end
    print(form)
}

private func parts() -> UploadOptions {
    // snippet: parts
    var options = UploadOptions.resumable(.tus)
    options.resume?.parallelParts = 4
    // end
    return options
}

private func tus(_ session: UploadSession, _ tusURL: String) async throws {
    // snippet: tus
    let stored = try await session.upload(.file(path: "film.mp4"), to: tusURL, method: .post, options: .resumable(.tus))
    print(stored.uploadURL ?? "")
    // end
}
