// The samples of README.md and of the guides, compiled. The text between `// snippet:` and `// end` is the sample; the
// code around it declares what the sample uses.
import Waybill

private func form(token: String, signature: [UInt8], url: String) async throws {
    // snippet: post a form
    var form = MultipartForm()
    form.append(.text("USERNO", "10086"))
    form.append(.text("TOKEN", .secret(token)))  // sent, never printed
    form.append(.file("FILE", path: "contract.pdf"))  // streamed
    form.append(.json("META", ["side": "front", "page": "1"]))
    form.append(.data("SIGNATURE", signature, fileName: "signature.png", contentType: "image/png"))

    let response = try await UploadSession.shared.upload(form, to: url)
    print(response.status.code, response.text)
    // end
}

private func answer(_ response: UploadResponse) throws {
    // snippet: read the answer
    struct Receipt: Decodable {
        var RETCODE: String
        var RETMSG: String
    }

    let receipt = try response.decode(Receipt.self)
    guard receipt.RETCODE == "000000" else { return report(receipt.RETMSG) }
    // end
}

private func callbacks(session: UploadSession, form: MultipartForm, url: String, bar: any Bar) {
    // snippet: callbacks
    session.start(form, to: url)
        .onProgress { progress in bar.show(progress.fraction ?? 0, rate: progress.bytesPerSecond) }
        .onCompletion { result in
            switch result {
            case .success(let response): report(response.text)
            case .failure(let error): report(error.message)
            }
        }
    // end
}

private func put(session: UploadSession, presignedURL: String) async throws {
    // snippet: put a file
    let content = UploadContent.file(path: "front.jpg", contentType: "image/jpeg")
    let response = try await session.upload(content, to: presignedURL)
    // end
    report(response.text)
}

private func stream(
    session: UploadSession, chunks: AsyncStream<[UInt8]>, byteCount: Int64, url: String
) async throws {
    // snippet: stream
    let response = try await session.upload(.stream(chunks, length: byteCount, replay: .fromCopy), to: url)
    // end
    report(response.text)
}

private func cancel(session: UploadSession, form: MultipartForm, url: String) {
    // snippet: cancel
    let task = session.start(form, to: url)
    task.cancel()
    // end
}

private func limits() -> UploadSession {
    // snippet: limits
    var configuration = UploadSession.Configuration()
    configuration.maximumConcurrentTransfers = 4
    configuration.options.transfer.rateLimit = .kibibytes(200)  // for each upload, per second
    configuration.options.transfer.limits.response = .seconds(300)  // the server may take 5 minutes
    configuration.options.retry = .none
    let session = UploadSession(configuration: configuration)
    // end
    return session
}

private func many(session: UploadSession, cards: [String], url: String) async throws {
    // snippet: many
    let tasks = cards.map { card in
        session.start([.image("FILE", path: card, .maxBytes(.kibibytes(100)))], to: url)
    }
    for task in tasks { report(try await task.response.text) }
    await session.close()
    // end
}

private protocol Bar: Sendable {
    func show(_ fraction: Double, rate: Double)
}

private func report(_ text: String) {}
