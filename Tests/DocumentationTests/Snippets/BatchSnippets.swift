// The samples of the guide to batches and chains, compiled.
import Waybill

private struct Photo: Sendable {
    var path: String
    var size: Int64
}

private struct Receipt: Decodable {
    var id: String
}

private func all(_ session: UploadSession, _ photos: [Photo], _ url: String) async {
    // snippet: upload all
    let results = await session.uploadAll(photos) { photo in
        UploadRequest(.post, url, content: .form([.image("FILE", path: photo.path, .maxBytes(.kibibytes(100)))]))
    }
    for result in results {
        do {
            print(result.item.path, try result.response.text)
        } catch {
            print(result.item.path, error.outcome, error.message)
        }
    }
    // end
}

private func streamed(_ session: UploadSession, _ photos: [Photo], _ url: String) async {
    // snippet: start batch
    let batch = session.startBatch(of: photos.lazy.map(\.path)) { path in
        UploadRequest(.post, url, content: .form([.file("FILE", path: path)]))
    }
    for await result in batch.results {
        if case .failure(let error) = result.result { print(result.index, result.item, error.message) }
    }
    print(await batch.summary)  // 99998 succeeded, 2 failed, 0 cancelled
    // end
}

private func watched(_ batch: UploadBatch<Photo>) {
    // snippet: batch progress
    Task {
        for await progress in batch.progress {
            print(progress.ended, "of", progress.count ?? 0, progress.bytesPerSecond, progress.timeLeft ?? .zero)
        }
    }
    // end
}

private func sized(_ session: UploadSession, _ photos: [Photo]) {
    // snippet: sizes of a batch
    var options = UploadBatchOptions()
    options.expectedSizes = photos.map(\.size)
    let batch = session.startBatch(of: photos, options: options) { photo in
        UploadRequest(.put, "https://files.example/\(photo.path)", content: .file(path: photo.path))
    }
    // end
    watched(batch)
}

private func steered(_ batch: UploadBatch<Photo>) {
    // snippet: steer a batch
    batch.cancel(at: 3)
    for (index, task) in batch.executing { print(index, task.state) }
    batch.cancel()
    // end
}

private func strict(_ session: UploadSession, _ requests: [UploadRequest]) async {
    // snippet: stop on failure
    var options = UploadBatchOptions()
    options.onFailure = .stop
    options.window = 4
    let summary = await session.startBatch(of: requests, options: options).summary
    if !summary.isSuccess { print(summary.failures.map(\.error.message)) }
    // end
}

private func chained(
    _ session: UploadSession, _ front: MultipartForm, _ back: MultipartForm
) async throws {
    // snippet: chain
    var chain = UploadChain("front", UploadRequest(.post, "cards/front", content: .form(front)))
    chain.then("back") { done in
        guard let front = try done["front"]?.decode(Receipt.self) else { return nil }
        return UploadRequest(.post, "cards/\(front.id)/back", content: .form(back))
    }
    chain.then("submit") { done in
        let ids = try done.responses.map { try $0.decode(Receipt.self).id }
        return UploadRequest(.post, "cards/submit", content: .form(["IDS": .text(ids.joined(separator: ","))]))
    }
    let responses = try await session.run(chain) { name, task in print(name, task.id) }.get()
    // end
    _ = responses
}

private func examined(_ session: UploadSession, _ chain: UploadChain) async {
    // snippet: chain result
    let result = await session.run(chain)
    if let failure = result.failure {
        print("stopped at", failure.step, "with", failure.error.outcome, "after", result.responses.count, "answers")
    }
    // end
}

private func withTicket(_ session: UploadSession) async throws {
    // snippet: ticket
    let ask = UploadRequest(.post, "https://backend.example/tickets", content: .data(Array(#"{"type":"jpg"}"#.utf8)))
    var format = TicketFormat(url: "/data/uploadUrl")  // JSON pointers (RFC 6901)
    format.headers = "/data/headers"
    format.validFor = "/data/expiresIn"
    var upload = TicketedUpload(file: "front.jpg", ask: ask, format: format)
    upload.confirm = { stored in
        UploadRequest(.post, "https://backend.example/photos/\(try stored.ticket.value(at: "/data/id"))")
    }
    let result = try await session.run(upload) { step, task in print(step, task.id) }
    print(result.stored.headers[.eTag] ?? "")
    // end
}
