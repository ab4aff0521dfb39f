// The rows of Docs/ComingFromURLSession.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import Logging
import Waybill
import WaybillFoundation
import WaybillOutbox
import WaybillTesting

private struct Bar: Sendable {
    func show(_ fraction: Double?) {}
}

private struct Receipt: Codable, Sendable {
    var id: String
}

private func signIn() async throws -> BearerToken { BearerToken(.secret("…"), validFor: .seconds(3_600)) }
private func makeRequest(for photo: Int) -> UploadRequest { UploadRequest(.post, "https://backend.example/\(photo)") }
private func log(_ text: String) {}

private func sessions(
    _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions, _ session: UploadSession,
    _ form: MultipartForm, _ url: URL
) async throws {
    // row: URLSession.shared, URLSession(configuration:), URLSessionConfiguration.ephemeral
    let shared = UploadSession.shared
    let ours = UploadSession(configuration: configuration)
    let plain = UploadSession.Configuration()
    // end
    _ = shared
    _ = ours
    _ = plain
    // row: URLSessionConfiguration.background(withIdentifier:)
    let outbox = try await Outbox(at: "/var/lib/kiosk/outbox")
    try await outbox.enqueue(form, to: url)
    try await outbox.run(session: session)
    // end
    // row: httpAdditionalHeaders
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: timeoutIntervalForRequest
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(30)
    // end
    // row: timeoutIntervalForResource
    options.transfer.limits.total = .seconds(300)
    options.retry.deadline = .seconds(300)
    // end
    // row: httpMaximumConnectionsPerHost
    configuration.maximumConcurrentTransfers = 8
    configuration.maximumConcurrentTransfersPerHost = 4
    // end
    // row: httpCookieStorage
    configuration.cookies = CookieJar()
    // end
    // row: connectionProxyDictionary
    options.transfer.proxy = "http://proxy.example:3128"
    // end
    // none: urlCache, requestCachePolicy
    // none: waitsForConnectivity
    // none: allowsCellularAccess, multipathServiceType
    // row: finishTasksAndInvalidate(), invalidateAndCancel()
    await session.close()
    await session.close(.cancel)
    // end
    // row: getAllTasks(completionHandler:), getAllTasks and cancel() on each
    let all = session.uploads
    session.cancelAll()
    // end
    _ = all
}

private func sending(
    _ session: UploadSession, _ form: MultipartForm, _ url: URL, _ fileURL: URL, _ data: Data,
    _ chunks: AsyncStream<[UInt8]>, _ length: Int64
) async throws {
    // row: upload(for:from:), upload(for:fromFile:)
    let response = try await session.upload(.data(data, contentType: "image/jpeg"), to: url)
    let sent = try await session.upload(.file(fileURL), to: url, method: .post)
    // end
    _ = response
    _ = sent
    // row: uploadTask(with:from:), resume()
    let task = session.start(form, to: url)
    // end
    _ = task
    // row: uploadTask(withStreamedRequest:)
    session.start(.stream(chunks, length: length), to: url)
    // end
    // row: needNewBodyStream
    session.start(.stream(chunks, length: length, replay: .fromCopy), to: url)
    // end
    // row: dataTask(with:) with an httpBody
    let request = UploadRequest(.post, url, content: .data(data, contentType: "application/json"))
    session.start(request)
    // end
    // row: uploadTask(withResumeData:)
    let resumed = try await session.upload(form, to: url, options: .resumable())
    // end
    _ = resumed
    // row: data(from:)
    let small = try await session.send(UploadRequest(.get, url))
    // end
    _ = small
    // none: download(from:), downloadTask(with:)
    // none: webSocketTask(with:), bytes(from:)
}

private func forms(
    _ form: inout MultipartForm, _ path: String, _ data: Data, _ chunks: AsyncStream<[UInt8]>, _ length: Int64,
    _ receipt: Receipt
) async throws {
    // row: "--\(boundary)\r\n" in a Data, Data(contentsOf:), bytes with a file name, an InputStream
    form.append(.text("DOCTYPE", "ID"))
    form.append(.file("FILE", path: path))
    form.append(.data("FILE", data, fileName: "front.jpg", contentType: "image/jpeg"))
    form.append(.stream("FILE", chunks, length: length, fileName: "scan.pdf"))
    // end
    // row: Content-Type: multipart/form-data; boundary=…
    let body = try await form.prepared()
    log("\(body.contentType ?? "") \(body.length ?? 0)")
    // end
    // row: a compressed photo
    form.append(.image("FILE", path: path, .maxBytes(.kibibytes(100))))
    // end
    // row: a JSON object as fields
    try form.append(fields: receipt, encoder: FormFieldEncoder(style: .brackets))
    // end
}

private func watching(
    _ session: UploadSession, _ task: UploadTask, _ bar: Bar, _ configuration: inout UploadSession.Configuration,
    _ logger: Logger
) async throws {
    // row: urlSession(_:task:didSendBodyData:…), task.progress, countOfBytesSent
    task.onProgress(on: .main) { bar.show($0.fraction) }
    let progress = task.foundationProgress(on: .main)
    for await snapshot in task.progress { log("\(snapshot.acknowledged)") }
    // end
    _ = progress
    // row: a completion handler
    task.onCompletion { result in log("\(result)") }
    // end
    // row: didFinishCollecting metrics:
    let metrics = try await task.response.metrics
    // end
    _ = metrics
    // row: taskIsWaitingForConnectivity
    for await event in session.events { log("\(event)") }
    // end
    // row: CFNETWORK_DIAGNOSTICS, URLSessionDebugLibcurl
    configuration.logger = logger
    // end
}

private func control(
    _ session: UploadSession, _ options: inout UploadOptions, _ task: UploadTask, _ photos: [Int], _ chain: UploadChain
) async throws {
    // row: task.cancel(), task.suspend(), task.resume()
    task.cancel()
    task.pause()
    task.resume()
    // end
    // row: task.priority
    options.priority = .high
    // end
    // row: taskDescription
    options.tags = ["order 7"]
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // row: a button pressed twice
    options.deduplicationKey = "card 20260117-0042 front"
    // end
    // row: withThrowingTaskGroup over photos
    let results = await session.uploadAll(photos) { photo in makeRequest(for: photo) }
    // end
    _ = results
    // row: a task started in a completion handler
    let answers = try await session.run(chain).get()
    // end
    _ = answers
    // none: earliestBeginDate
}

private func challenges(_ options: inout UploadOptions, _ password: String, _ path: String, _ pin: String) {
    // row: URLCredential(user:password:persistence:)
    options.authentication = .basic(user: "clerk", password: .secret(password))
    // end
    // row: an expiring Authorization field
    options.authentication = .refreshing(BearerRefresher { try await signIn() })
    // end
    // row: NSURLAuthenticationMethodServerTrust, a pinned key, NSURLAuthenticationMethodClientCertificate
    options.transfer.tls.certificateAuthorities = path
    options.transfer.tls.pinnedKeys = [pin]
    options.transfer.tls.clientCertificate = ClientCertificate(.file(path), format: .pkcs12)
    // end
    // row: willPerformHTTPRedirection
    options.redirects = .returned
    // end
    // row: a retry
    options.retry = RetryPolicy(maxRetries: 5, deadline: .seconds(90))
    // end
    // row: a retry of a POST after -1001
    options.idempotency = .honoured(window: .seconds(23 * 3_600))
    // end
}

private func answers(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ form: MultipartForm, _ url: URL, _ answer: UploadResponse, _ error: UploadError
) async throws {
    // row: (response as? HTTPURLResponse)?.statusCode, allHeaderFields
    let status = answer.status.code
    let type = answer.headers[.contentType]
    // end
    _ = status
    _ = type
    // row: a check for 2xx
    options.accepts = .successful
    // end
    // row: JSONDecoder().decode(_:from: data)
    let receipt = try await session.upload(form, to: url, as: Receipt.self)
    // end
    _ = receipt
    // row: a code in the body
    configuration.interceptors.append(JSONEnvelope(code: "code", message: "msg", successCodes: ["0"]))
    // end
    // row: URLError.cancelled, URLError.timedOut, URLError.networkConnectionLost
    if error.isCancelled { log(error.message) }
    if error.isTimeout { log("\(error.code)") }
    let mayHaveArrived = error.outcome == .unknown
    // end
    _ = mayHaveArrived
    // row: URLProtocol stubs in tests
    let transport = ScriptedTransport(.responding(.created))
    let tested = UploadSession(configuration: .init(), transport: transport)
    // end
    _ = tested
}
