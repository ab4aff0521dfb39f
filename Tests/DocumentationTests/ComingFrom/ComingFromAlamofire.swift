// The rows of Docs/ComingFromAlamofire.md, compiled: each region is the right-hand cell of the row that it is named after.
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

private func parse(_ body: [UInt8]) throws -> Receipt { Receipt(id: "\(body.count)") }
private func signIn() async throws -> BearerToken { BearerToken(.secret("…"), validFor: .seconds(3_600)) }
private func isJSON(_ response: UploadResponse) -> Bool { response.headers[.contentType] == "application/json" }
private func request(for photo: Int) -> UploadRequest { UploadRequest(.post, "https://backend.example/\(photo)") }
private func open(_ sealed: [UInt8]) throws -> [UInt8] { sealed }
private func log(_ text: String) {}

private func sending(
    _ configuration: UploadSession.Configuration, _ session: UploadSession, _ form: MultipartForm, _ url: URL,
    _ fileURL: URL, _ data: Data, _ chunks: AsyncStream<[UInt8]>, _ length: Int64, _ headers: HTTPFields,
    _ receipt: Receipt
) async throws {
    // row: Session, AF
    let ours = UploadSession(configuration: configuration)
    // end
    _ = ours
    // row: AF.upload(multipartFormData:to:), AF.upload(multipartFormData:to:method:headers:)
    let task = session.start(form, to: url)
    session.start(form, to: url, method: .patch, headers: headers)
    // end
    _ = task
    // row: AF.upload(fileURL, to:), AF.upload(data, to:), AF.upload(stream, to:)
    session.start(.file(fileURL), to: url, method: .post)
    session.start(.data(data, contentType: "image/jpeg"), to: url)
    session.start(.stream(chunks, length: length), to: url)
    // end
    // row: AF.upload(multipartFormData:with:), URLRequestConvertible
    let request = UploadRequest(.post, url, headers: headers, content: .form(form))
    session.start(request)
    // end
    // row: URLConvertible
    session.start(form, to: "https://backend.example/upload")
    // end
    // row: ParameterEncoder, JSONParameterEncoder
    let body = UploadContent.data(try JSONEncoder().encode(receipt), contentType: "application/json")
    session.start(body, to: url, method: .post)
    // end
    // row: AF.request(url)
    let small = try await session.send(UploadRequest(.get, url))
    // end
    _ = small
    // none: AF.download, DownloadRequest
    // none: DataStreamRequest, WebSocketRequest
    // none: DeflateRequestCompressor
}

private func forms(
    _ form: inout MultipartForm, _ data: Data, _ fileURL: URL, _ chunks: AsyncStream<[UInt8]>, _ length: Int64,
    _ receipt: Receipt
) async throws {
    // row: append(data, withName:), append(data, withName:fileName:mimeType:)
    form.append(.text("DOCTYPE", "ID"))
    form.append(.data("FILE", data, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: append(fileURL, withName:), append(fileURL, withName:fileName:mimeType:)
    form.append(.file("FILE", url: fileURL))
    form.append(.file("FILE", url: fileURL, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: append(stream, withLength:name:fileName:mimeType:), append(stream, withLength:headers:)
    form.append(.stream("FILE", chunks, length: length, fileName: "scan.pdf", contentType: "application/pdf"))
    form.append(.stream("FILE", chunks, length: length).header("Content-ID", "front"))
    // end
    // row: nested parameters (none for forms)
    try form.append(fields: receipt, encoder: FormFieldEncoder(style: .brackets))
    // end
    // row: contentType, contentLength
    let body = try await form.prepared()
    log("\(body.contentType ?? "") \(body.length ?? 0)")
    // end
    // row: boundary
    let known = try await form.prepared(boundary: MultipartBoundary("frontier"))
    // end
    _ = known
    // row: encode(), writeEncodedData(to:)
    try await form.prepared().write(to: "form.bin")
    // end
    // row: usingThreshold:, encodingMemoryThreshold
    form.unknownLength = .spill(threshold: .mebibytes(1))
    // end
    // row: a photo made small before it is added
    form.append(.image("FILE", url: fileURL, .maxBytes(.kibibytes(100))))
    // end
}

private func watching(
    _ session: UploadSession, _ task: UploadTask, _ bar: Bar, _ queue: DispatchQueue, _ request: UploadRequest,
    _ configuration: inout UploadSession.Configuration, _ logger: Logger
) async throws {
    // row: uploadProgress { }, uploadProgress(queue:closure:)
    task.onProgress(on: .main) { bar.show($0.fraction) }
    task.onProgress(on: queue) { bar.show($0.fraction) }
    // end
    // row: for await progress in request.uploadProgress()
    for await progress in task.progress { bar.show(progress.fraction) }
    // end
    // row: request.uploadProgress as a Progress
    let progress = task.foundationProgress(on: .main)
    // end
    _ = progress
    // row: response(queue:) { }
    task.onCompletion(on: queue) { result in log("\(result)") }
    // end
    // row: EventMonitor
    for await event in session.events { log("\(event)") }
    // end
    // row: metrics
    let metrics = try await task.response.metrics
    // end
    _ = metrics
    // row: cURLDescription
    log(session.curlCommand(for: request))
    // end
    // row: log lines of a monitor
    configuration.logger = logger
    // end
}

private func control(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ task: UploadTask, _ form: MultipartForm, _ url: URL, _ photos: [Int], _ chain: UploadChain
) async throws {
    // row: cancel(), suspend(), resume()
    task.cancel()
    task.pause()
    task.resume()
    // end
    // row: startRequestsImmediately
    session.pauseAll()
    // end
    // row: cancelAllRequests(), withAllRequests
    session.cancelAll()
    let all = session.uploads
    // end
    _ = all
    // row: automaticallyCancelling:
    let answer = try await session.upload(form, to: url)
    // end
    _ = answer
    // row: id
    let id = task.id
    // end
    _ = id
    // row: a dictionary of requests by name
    options.tags = ["order 7"]
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // row: a double tap
    options.deduplicationKey = "card 20260117-0042 front"
    // end
    // row: httpMaximumConnectionsPerHost
    configuration.maximumConcurrentTransfers = 8
    configuration.maximumConcurrentTransfersPerHost = 4
    // end
    // row: priority (none)
    options.priority = .high
    // end
    // row: bandwidth (none)
    session.limit(to: .mebibytes(1))
    // end
    // row: several uploads with withTaskGroup
    let results = await session.uploadAll(photos) { photo in request(for: photo) }
    // end
    _ = results
    // row: one upload after the other
    let answers = try await session.run(chain).get()
    // end
    _ = answers
}

private func intercepts(
    _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions, _ password: String
) async throws {
    // row: RequestAdapter
    configuration.interceptors.append(.adapting("attempt") { $0.appendQuery("n", "\($0.attempt)") })
    // end
    // row: Interceptor(interceptors:)
    configuration.interceptors = [JSONEnvelope(), .transforming("decrypt") { try open($0) }]
    // end
    // row: RetryPolicy
    options.retry = RetryPolicy(maxRetries: 2, baseDelay: .milliseconds(500))
    // end
    // row: RetryPolicy(retryableHTTPMethods: [.post])
    options.idempotency = .honoured(window: .seconds(23 * 3_600))
    // end
    // row: ConnectionLostRetryPolicy, RequestRetrier, .doNotRetry
    options.retry = .standard
    options.retry = .none
    // end
    // row: authenticate(username:password:)
    options.authentication = .basic(user: "clerk", password: .secret(password))
    // end
    // row: AuthenticationInterceptor, Authenticator
    options.authentication = .refreshing(BearerRefresher { try await signIn() })
    // end
    // row: requestModifier: { $0.timeoutInterval = 30 }
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(60)
    // end
    // row: HTTPHeaders.default, httpAdditionalHeaders
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: a base URL
    configuration.baseURL = "https://backend.example/api/"
    // end
    // row: parameters in every form
    configuration.commonFields = [.text("channel", "kiosk")]
    // end
    // row: Redirector.follow, Redirector.doNotFollow
    options.redirects = .returned
    // end
    // row: httpCookieStorage
    configuration.cookies = CookieJar()
    // end
    // row: connectionProxyDictionary
    options.transfer.proxy = "http://proxy.example:3128"
    // end
    // none: .retryWithDelay
    // none: Redirector.modify
    // none: CachedResponseHandler, ResponseCacher
    // none: NetworkReachabilityManager
}

private func trust(
    _ options: inout UploadOptions, _ path: String, _ pin: String
) async throws {
    // row: DefaultTrustEvaluator()
    options.transfer.tls = .init()
    // end
    // row: PublicKeysTrustEvaluator
    options.transfer.tls.pinnedKeys = [pin]
    // end
    // row: PinnedCertificatesTrustEvaluator(acceptSelfSignedCertificates: true)
    options.transfer.tls.certificateAuthorities = path
    // end
    // row: RevocationTrustEvaluator
    options.transfer.curlOptions = [CurlOption("CRLFILE", .text(path))]
    // end
    // row: DisabledTrustEvaluator
    options.transfer.tls.insecureSkipVerification = true
    // end
    // row: a client certificate
    options.transfer.tls.clientCertificate = ClientCertificate(.file(path), format: .pkcs12)
    // end
    // none: ServerTrustManager(evaluators:)
    // none: DefaultTrustEvaluator(validateHost: false)
}

private func answers(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ form: MultipartForm, _ url: URL, _ response: UploadResponse, _ error: UploadError
) async throws {
    // row: validate(), validate(statusCode:)
    options.accepts = .successful
    options.accepts = .only([200, 201, 409])
    // end
    // row: validate(contentType:)
    let onlyJSON = ClosureInterceptor.judging("type") { isJSON($0) ? .accepted : .rejected(message: "not JSON") }
    configuration.interceptors.append(onlyJSON)
    // end
    // row: validate { request, response, data in }
    configuration.interceptors.append(.judging("size") { $0.body.isEmpty ? .rejected(message: "empty") : .accepted })
    // end
    // row: an envelope with a code
    configuration.interceptors.append(JSONEnvelope(code: "code", message: "msg", successCodes: ["0"]))
    // end
    // row: responseDecodable(of:), serializingDecodable
    let receipt = try await session.upload(form, to: url, as: Receipt.self)
    // end
    _ = receipt
    // row: responseData, serializingData, responseString, serializingString
    let bytes = response.body
    let text = response.text
    // end
    _ = bytes
    _ = text
    // row: ResponseSerializer, DataPreprocessor
    let parsed = try response.decode(using: parse)
    // end
    _ = parsed
    // row: DataResponse.response, HTTPURLResponse
    let type = response.headers[.contentType]
    // end
    _ = type
    // row: AFError.isExplicitlyCancelledError
    if error.isCancelled { log(error.message) }
    // end
    // row: AFError.responseCode, AFError.underlyingError
    let status = error.response?.status.code
    let cause = error.cause
    // end
    _ = status
    _ = cause
    // row: AFError.isMultipartEncodingError
    let part = error.part
    // end
    _ = part
}
