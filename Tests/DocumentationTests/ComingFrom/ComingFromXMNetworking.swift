// The rows of Docs/ComingFromXMNetworking.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import Logging
import Waybill
import WaybillFoundation

private struct Bar: Sendable {
    func show(_ fraction: Double?) {}
}

private struct Receipt: Codable, Sendable {
    var id: String
}

private struct Crypto {
    static func open(_ sealed: [UInt8]) throws -> [UInt8] { sealed }
}

private func parse(_ body: [UInt8]) throws -> Receipt { Receipt(id: "\(body.count)") }
private func request(for photo: Int) -> UploadRequest { UploadRequest(.post, "https://backend.example/\(photo)") }
private func log(_ text: String) {}

private func configures(
    _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions, _ task: UploadTask,
    _ queue: DispatchQueue, _ logger: Logger
) async throws {
    // row: XMCenter, [XMCenter defaultCenter], setupConfig:, [XMCenter center]
    let session = UploadSession.shared
    let own = UploadSession(configuration: configuration)
    // end
    _ = session
    _ = own
    // row: generalServer
    configuration.baseURL = "https://backend.example/api/"
    // end
    // row: generalHeaders
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: generalParameters
    configuration.commonFields = [.text("channel", "kiosk")]
    // end
    // row: generalUserInfo, userInfo
    options.tags = ["order 7"]
    // end
    // row: callbackQueue
    task.onCompletion(on: queue) { result in log("\(result)") }
    // end
    // row: consoleLog
    configuration.logger = logger
    // end
    // none: engine
}

private func requests(
    _ session: UploadSession, _ options: inout UploadOptions, _ form: MultipartForm, _ receipt: Receipt,
    _ headers: HTTPFields, _ configuration: inout UploadSession.Configuration
) async throws {
    // row: sendRequest:onProgress:onSuccess:onFailure:onFinished:
    let task = session.start(form, to: "upload")
    // end
    _ = task
    // row: XMRequest, kXMRequestUpload
    var request = UploadRequest(.post, "upload", content: .form(form))
    // end
    request.options = options
    // row: kXMRequestNormal
    let answer = try await session.send(UploadRequest(.get, "status"))
    // end
    _ = answer
    // row: server, api, url, headers
    request.url = "https://other.example/upload"
    request.headers = headers
    // end
    // row: useGeneralHeaders, useGeneralParameters
    options.excludedDefaults = [.headers, .commonFields]
    // end
    // row: parameters, httpMethod, kXMRequestSerializerJSON
    request.content = .form(["BUSINESSNO": "20260117-0042"])
    request.method = .put
    request.content = .data(try JSONEncoder().encode(receipt), contentType: "application/json")
    // end
    // row: timeoutInterval
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(60)
    // end
    // row: retryCount
    options.retry = RetryPolicy(maxRetries: 5)
    // end
    // row: setRequestProcessBlock:
    configuration.interceptors.append(.adapting("stamp") { $0.appendQuery("attempt", "\($0.attempt)") })
    // end
    // none: kXMRequestDownload, downloadSavePath
    // none: kXMRequestSerializerRAW, kXMRequestSerializerPlist
}

private func forms(
    _ form: inout MultipartForm, _ bytes: [UInt8], _ fileURL: URL, _ chunks: AsyncStream<[UInt8]>
) async throws {
    // row: addFormDataWithName:fileData:, addFormDataWithName:fileName:mimeType:fileData:
    form.append(.data("FILE", bytes))
    form.append(.data("FILE", bytes, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: addFormDataWithName:fileURL:, addFormDataWithName:fileName:mimeType:fileURL:
    form.append(.file("FILE", url: fileURL))
    form.append(.file("FILE", url: fileURL, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: XMUploadFormData, uploadFormDatas
    form.parts.removeAll { $0.name == "FILE" }
    // end
    // row: a stream
    form.append(.stream("FILE", chunks, length: nil, fileName: "scan.pdf"))
    // end
    // row: a compressed photo
    form.append(.image("FILE", url: fileURL, .maxBytes(.kibibytes(100))))
    // end
}

private func callbacks(
    _ task: UploadTask, _ bar: Bar
) async throws {
    // row: onProgress:, NSProgress of the block
    task.onProgress(on: .main) { bar.show($0.fraction) }
    let progress = task.foundationProgress(on: .main)
    // end
    _ = progress
    // row: onSuccess:, onFailure:, onFinished:
    task.onSuccess(on: .main) { response in log(response.text) }
    task.onFailure(on: .main) { error in log(error.message) }
    task.onCompletion(on: .main) { result in log("\(result)") }
    // end
    // row: waiting
    let response = try await task.response
    // end
    _ = response
}

private func control(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ task: UploadTask
) async throws {
    // row: cancelRequest:
    session.upload(id: task.id)?.cancel()
    // end
    // row: cancelRequest:onCancel:
    task.cancel()
    task.onFailure(on: .main) { error in log("\(error.isCancelled)") }
    // end
    // row: getRequest:
    let living = session.upload(id: task.id)
    // end
    _ = living
    // row: setConcurrentOperationCount:
    configuration.maximumConcurrentTransfers = 4
    configuration.maximumConcurrentTransfersPerHost = 2
    // end
    // row: cancel all, cancel those with a userInfo
    session.cancelAll()
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // row: pause and resume
    task.pause()
    task.resume()
    // end
    // row: priority, a double tap
    options.priority = .high
    options.deduplicationKey = "card 20260117-0042 front"
    // end
    // none: isNetworkReachable, reachabilityStatus
}

private func many(
    _ session: UploadSession, _ photos: [Int], _ bar: Bar, _ form: MultipartForm
) async throws {
    // row: sendBatchRequest:onSuccess:onFailure:onFinished:, XMBatchRequest.requestArray, XMBatchRequest.responseArray
    let batch = session.startBatch(of: photos) { photo in request(for: photo) }
    let underWay = batch.executing
    for await item in batch.results { log("\(item.index): \(item.result)") }
    // end
    _ = underWay
    // row: all responses
    let results = await session.uploadAll(photos) { photo in request(for: photo) }
    // end
    _ = results
    // row: XMBCSuccessBlock, XMBCFailureBlock, XMBCFinishedBlock
    let summary = await batch.summary
    // end
    log("\(summary)")
    // row: progress of a batch, cancelRequest: of a batch
    for await progress in batch.progress { bar.show(progress.fraction) }
    batch.cancel()
    // end
    // row: sendChainRequest:onSuccess:onFailure:onFinished:
    var chain = UploadChain("front", UploadRequest(.post, "front", content: .form(form)))
    // end
    // row: onFirst:, onNext:
    chain.then("back") { done in UploadRequest(.post, "back/\(done["front"]?.text ?? "")") }
    // end
    // row: *isSent = NO
    chain.then("submit") { done in done.responses.count == 2 ? UploadRequest(.post, "submit") : nil }
    // end
    // row: running a chain
    let answers = try await session.run(chain).get()
    // end
    _ = answers
}

private func answers(
    _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions, _ response: UploadResponse,
    _ path: String, _ pin: String, _ password: String
) async throws {
    // row: kXMResponseSerializerRAW, kXMResponseSerializerJSON, kXMResponseSerializerXML, kXMResponseSerializerPlist
    let bytes = response.body
    let receipt = try response.decode(Receipt.self)
    let parsed = try response.decode(using: parse)
    // end
    _ = bytes
    _ = receipt
    _ = parsed
    // row: setResponseProcessBlock: with *error = …
    configuration.interceptors.append(JSONEnvelope(code: "retcode", message: "msg", successCodes: ["0"]))
    // end
    // row: setResponseProcessBlock: that decrypts
    configuration.interceptors.append(.transforming("decrypt") { try Crypto.open($0) })
    // end
    // row: addSSLPinningCert:
    options.transfer.tls.pinnedKeys = [pin]
    // end
    // row: a self-signed certificate
    options.transfer.tls.certificateAuthorities = path
    // end
    // row: addTwowayAuthenticationPKCS12:keyPassword:
    options.transfer.tls.clientCertificate = ClientCertificate(
        .file(path), format: .pkcs12, passphrase: .secret(password))
    // end
    // row: cookies
    configuration.cookies = CookieJar()
    // end
    // row: the system's proxy
    options.transfer.proxy = "socks5h://proxy.example:1080"
    // end
    // none: addSSLPinningURL:
    // none: NSURLCache
}
