// The rows of Docs/ComingFromHYBNetworking.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import Logging
import Waybill
import WaybillFoundation

private struct Bar: Sendable {
    func show(_ done: Int64, of total: Int64?) {}
}

private struct Receipt: Codable, Sendable {
    var id: String
}

private func parse(_ body: [UInt8]) throws -> Receipt { Receipt(id: "\(body.count)") }
private func request(for photo: Int) -> UploadRequest { UploadRequest(.post, "https://backend.example/\(photo)") }
private func log(_ text: String) {}

private func uploads(
    _ session: UploadSession, _ form: inout MultipartForm, _ url: String, _ path: String, _ photo: [UInt8],
    _ chunks: AsyncStream<[UInt8]>, _ parameters: Receipt
) async throws {
    // row: uploadWithImage:url:filename:name:mimeType:parameters:progress:success:fail:
    form.append(.image("FILE", path: path, fileName: "front.jpg", .maxBytes(.kibibytes(100))))
    let task = session.start(form, to: url)
    // end
    _ = task
    // row: UIImageJPEGRepresentation(image, 1)
    form.append(.image("FILE", data: photo, .quality(95)))
    // end
    // row: filename as yyyyMMddHHmmss
    form.append(.data("FILE", photo, named: .now, in: .current))
    // end
    // row: name, filename, mimeType, the original photo
    form.append(.data("FILE", photo, fileName: "front.jpg", contentType: "image/jpeg"))
    form.append(.file("FILE", path: path))
    // end
    // row: parameters
    try form.append(fields: parameters)
    // end
    // row: a secret parameter
    form.append(.text("TOKEN", .secret("…")))
    // end
    // row: uploadFileWithUrl:uploadingFile:progress:success:fail:, bytes from memory, or a stream
    session.start(.file(path: path), to: url, method: .post)
    session.start(.stream(chunks, length: nil), to: url)
    // end
    // row: postWithUrl:refreshCache:params:success:fail:
    let body = UploadContent.data(try JSONEncoder().encode(parameters), contentType: "application/json")
    let answer = try await session.send(UploadRequest(.post, url, content: body))
    // end
    _ = answer
    // row: getWithUrl:refreshCache:params:success:fail:
    let status = try await session.send(UploadRequest(.get, url))
    // end
    _ = status
    // none: downloadWithUrl:saveToPath:progress:success:failure:
}

private func callbacks(
    _ session: UploadSession, _ task: UploadTask, _ bar: Bar, _ queue: DispatchQueue
) async throws {
    // row: HYBUploadProgress
    task.onProgress(on: .main) { bar.show($0.acknowledged, of: $0.total) }
    // end
    // row: HYBResponseSuccess, HYBResponseFail
    task.onSuccess(on: .main) { response in log(response.text) }
    task.onFailure(on: .main) { error in log(error.message) }
    // end
    // row: both in one
    task.onCompletion(on: queue) { result in log("\(result)") }
    // end
    // row: callbackOnCancelRequest:
    task.onFailure(on: queue) { error in if !error.isCancelled { log(error.message) } }
    // end
    // row: waiting, a Foundation Progress
    let response = try await task.response
    let progress = task.foundationProgress(on: .main)
    // end
    _ = response
    _ = progress
}

private func control(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ form: MultipartForm, _ url: String, _ task: UploadTask, _ photos: [Int], _ chain: UploadChain
) async throws {
    // row: [task cancel], cancelAllRequest
    task.cancel()
    session.cancelAll()
    // end
    // row: cancelRequestWithURL:
    options.tags = [url]
    session.uploads(taggedWith: url).forEach { $0.cancel() }
    // end
    // row: HYBURLSessionTask
    let handle: UploadTask = session.start(form, to: url)
    // end
    _ = handle
    // row: [task suspend], [task resume]
    task.pause()
    task.resume()
    // end
    // row: task.priority
    options.priority = .high
    // end
    // row: maxConcurrentOperationCount (3, fixed)
    configuration.maximumConcurrentTransfers = 3
    configuration.maximumConcurrentTransfersPerHost = 3
    // end
    // row: several photos
    let results = await session.uploadAll(photos) { photo in request(for: photo) }
    // end
    _ = results
    // row: nested blocks, one upload after the other
    let answers = try await session.run(chain).get()
    // end
    _ = answers
    // row: a retry
    options.retry = RetryPolicy(maxRetries: 5)
    // end
    // row: a double tap
    options.deduplicationKey = "card 20260117-0042 front"
    // end
}

private func configures(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ logger: Logger, _ response: UploadResponse, _ form: MultipartForm, _ url: String, _ pin: String, _ path: String
) async throws {
    // row: updateBaseUrl:
    configuration.baseURL = "https://backend.example/api/"
    // end
    // row: setTimeout:
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(60)
    // end
    // row: configCommonHttpHeaders:
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: common parameters
    configuration.commonFields = [.text("channel", "kiosk")]
    // end
    // row: enableInterfaceDebug:
    configuration.logger = logger
    // end
    // row: kHYBResponseTypeJSON, kHYBResponseTypeXML, kHYBResponseTypeData
    let receipt = try response.decode(Receipt.self)
    let parsed = try response.decode(using: parse)
    let bytes = response.body
    // end
    _ = receipt
    _ = parsed
    _ = bytes
    // row: a business code in success
    configuration.interceptors.append(JSONEnvelope(code: "code", message: "msg", successCodes: ["0"]))
    // end
    // row: a date or signature
    configuration.interceptors.append(.adapting("attempt") { $0.appendQuery("n", "\($0.attempt)") })
    // end
    // row: AFSecurityPolicy
    options.transfer.tls.pinnedKeys = [pin]
    options.transfer.tls.certificateAuthorities = path
    // end
    // row: cookies
    configuration.cookies = CookieJar()
    // end
    // row: the system's proxy
    options.transfer.proxy = "http://proxy.example:3128"
    // end
    // none: shouldAutoEncodeUrl:
    // none: kHYBRequestTypeJSON, kHYBRequestTypePlainText
    // none: cacheGetRequest:shoulCachePost:, totalCacheSize, clearCaches, refreshCache
    // none: obtainDataFromLocalWhenNetworkUnconnected:
    // none: AFNetworkReachabilityManager
}
