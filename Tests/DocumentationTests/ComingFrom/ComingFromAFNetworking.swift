// The rows of Docs/ComingFromAFNetworking.md, compiled: each region is the right-hand cell of the row that it is named after.
import Foundation
import Waybill
import WaybillFoundation

private struct Bar: Sendable {
    func show(_ fraction: Double?) {}
}

private struct Fields: Codable, Sendable {
    var businessNumber: String
}

private struct Receipt: Decodable, Sendable {
    var id: String
}

private func bytes(of photo: Int) -> [UInt8] { [] }
private func parse(_ body: [UInt8]) throws -> Receipt { Receipt(id: "\(body.count)") }
private func log(_ text: String) {}
private func export() async throws -> AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
private func now() -> String { Date().formatted(.iso8601) }
private func isJSON(_ response: UploadResponse) -> Bool { response.headers[.contentType] == "application/json" }

private func sending(
    _ session: UploadSession, _ configuration: UploadSession.Configuration, _ form: MultipartForm, _ url: String,
    _ headers: HTTPFields, _ path: String, _ bytes: [UInt8], _ chunks: AsyncStream<[UInt8]>, _ length: Int64,
    _ fields: Fields
) async throws {
    // row: AFHTTPSessionManager, AFURLSessionManager
    let ours = UploadSession(configuration: configuration)
    // end
    _ = ours
    // row: POST:parameters:headers:constructingBodyWithBlock:progress:success:failure:
    session.start(form, to: url, headers: headers)
    // end
    // row: multipartFormRequestWithMethod:URLString:parameters:constructingBodyWithBlock:error:
    let request = UploadRequest(.post, url, content: .form(form))
    session.start(request)
    // end
    // row: uploadTaskWithRequest:fromFile:progress:completionHandler:
    session.start(.file(path: path), to: url, method: .put)
    // end
    // row: uploadTaskWithRequest:fromData:progress:completionHandler:
    session.start(.data(bytes, contentType: "image/jpeg"), to: url)
    // end
    // row: uploadTaskWithStreamedRequest:progress:completionHandler:
    session.start(.stream(chunks, length: length), to: url)
    // end
    // row: requestWithMultipartFormRequest:writingStreamContentsToFile:completionHandler:
    try await form.prepared().write(to: path)
    // end
    // row: PUT:parameters:headers:success:failure:, PATCH:parameters:headers:success:failure:
    session.start(form, to: url, method: .patch)
    // end
    // row: AFJSONRequestSerializer
    let body = UploadContent.data(try JSONEncoder().encode(fields), contentType: "application/json")
    session.start(body, to: url, method: .post)
    // end
    // row: GET:parameters:headers:progress:success:failure:
    let small = try await session.send(UploadRequest(.get, url))
    // end
    _ = small
    // none: downloadTaskWithRequest:progress:destination:completionHandler:
    // none: AFPropertyListRequestSerializer
}

private func forms(
    _ form: inout MultipartForm, _ fileURL: URL, _ bytes: [UInt8], _ chunks: AsyncStream<[UInt8]>, _ length: Int64,
    _ fields: Fields, _ path: String, _ task: UploadTask
) async throws {
    // row: appendPartWithFileURL:name:error:, appendPartWithFileURL:name:fileName:mimeType:error:
    form.append(.file("FILE", url: fileURL))
    form.append(.file("FILE", url: fileURL, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: appendPartWithFileData:name:fileName:mimeType:
    form.append(.data("FILE", bytes, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: appendPartWithFormData:name:
    form.append(.text("DOCTYPE", "ID"))
    // end
    // row: appendPartWithInputStream:name:fileName:length:mimeType:
    form.append(.stream("FILE", chunks, length: length, fileName: "scan.pdf", contentType: "application/pdf"))
    // end
    // row: setTaskNeedNewBodyStreamBlock:
    form.append(.stream("FILE", length: length) { try await export() })
    // end
    // row: appendPartWithHeaders:body:
    form.append(.data("FILE", bytes).header("Content-ID", "front"))
    // end
    // row: parameters with nested values
    try form.append(fields: fields)
    // end
    // row: throttleBandwidthWithPacketSize:delay:
    task.limit(to: .kibibytes(200))
    // end
    // row: UIImageJPEGRepresentation(image, 0.5)
    form.append(.image("FILE", path: path, .maxBytes(.kibibytes(100))))
    // end
}

private func watching(
    _ session: UploadSession, _ task: UploadTask, _ bar: Bar, _ queue: DispatchQueue, _ photos: [Int], _ url: String
) async throws {
    // row: uploadProgress block, setTaskDidSendBodyDataBlock:
    task.onProgress(on: .main) { bar.show($0.fraction) }
    task.onProgress { bar.show($0.fraction) }
    // end
    // row: success:, failure:
    task.onSuccess(on: .main) { response in log(response.text) }
    task.onFailure(on: .main) { error in log(error.message) }
    // end
    // row: completionHandler:, completionQueue
    task.onCompletion(on: queue) { result in log("\(result)") }
    task.onCompletion(on: queue) { _ in log("done") }
    // end
    // row: completionGroup
    let results = await session.uploadAll(photos) { UploadRequest(.post, url, content: .data(bytes(of: $0))) }
    // end
    _ = results
    // row: uploadProgressForTask:
    let progress = task.foundationProgress(on: .main)
    // end
    _ = progress
    // row: AFNetworkingTaskDidResumeNotification, AFNetworkingTaskDidCompleteNotification
    for await event in session.events { log("\(event)") }
    // end
    // row: setTaskDidFinishCollectingMetricsBlock:
    let connect = try await task.response.metrics.connect
    // end
    _ = connect
}

private func control(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ task: UploadTask, _ chain: UploadChain
) async throws {
    // row: [task cancel], [task suspend], [task resume]
    task.cancel()
    task.pause()
    task.resume()
    // end
    // row: task.priority
    options.priority = .high
    // end
    // row: uploadTasks, tasks
    let all = session.uploads
    // end
    _ = all
    // row: taskIdentifier, taskDescription
    options.tags = ["order 7"]
    session.uploads(taggedWith: "order 7").forEach { $0.cancel() }
    // end
    // row: [manager.tasks makeObjectsPerformSelector:@selector(cancel)], invalidateSessionCancelingTasks:resetSession:
    session.cancelAll()
    await session.close(.cancel)
    // end
    // row: operationQueue.maxConcurrentOperationCount, HTTPMaximumConnectionsPerHost
    configuration.maximumConcurrentTransfers = 4
    configuration.maximumConcurrentTransfersPerHost = 2
    // end
    // row: nested blocks, one upload after the other
    let answers = try await session.run(chain).get()
    // end
    _ = answers
    // row: a retry in failure:
    options.retry = RetryPolicy(maxRetries: 5, deadline: .seconds(90))
    // end
    // row: a double tap
    options.deduplicationKey = "card 20260117-0042 front"
    // end
    // none: backgroundSessionConfigurationWithIdentifier:, attemptsToRecreateUploadTasksForBackgroundSessions
}

private func requests(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ password: String
) async throws {
    // row: initWithBaseURL:
    configuration.baseURL = "https://backend.example/api/"
    // end
    // row: [requestSerializer setValue:forHTTPHeaderField:], HTTPAdditionalHeaders
    configuration.headers[.acceptLanguage] = "zh-CN"
    // end
    // row: general parameters
    configuration.commonFields = [.text("channel", "kiosk")]
    // end
    // row: setAuthorizationHeaderFieldWithUsername:password:
    options.authentication = .basic(user: "clerk", password: .secret(password))
    // end
    // row: setSessionDidReceiveAuthenticationChallengeBlock:, setTaskDidReceiveAuthenticationChallengeBlock:
    options.authentication = .digest(user: "clerk", password: .secret(password))
    // end
    // row: requestSerializer.timeoutInterval
    options.transfer.limits.stall = .seconds(30)
    options.transfer.limits.response = .seconds(60)
    // end
    // row: a subclass of AFHTTPRequestSerializer
    configuration.interceptors.append(.adapting("date") { $0.headers[.date] = now() })
    // end
    // row: setTaskWillPerformHTTPRedirectionBlock:
    options.redirects = .returned
    // end
    // row: HTTPShouldHandleCookies, HTTPCookieStorage
    configuration.cookies = CookieJar()
    // end
    // row: connectionProxyDictionary
    options.transfer.proxy = "http://proxy.example:3128"
    // end
    // none: cachePolicy, URLCache
    // none: allowsCellularAccess, networkServiceType, HTTPShouldUsePipelining
    // none: AFNetworkReachabilityManager
    // none: AFNetworkActivityIndicatorManager
}

private func trust(
    _ options: inout UploadOptions, _ path: String, _ pin: String
) async throws {
    // row: AFSecurityPolicy, AFSSLPinningModePublicKey
    options.transfer.tls.pinnedKeys = [pin]
    // end
    // row: AFSSLPinningModeCertificate, pinnedCertificates
    options.transfer.tls.certificateAuthorities = path
    // end
    // row: allowInvalidCertificates
    options.transfer.tls.insecureSkipVerification = true
    // end
    // row: a client certificate
    options.transfer.tls.clientCertificate = ClientCertificate(.file(path), format: .pkcs12)
    // end
    // none: validatesDomainName = NO
}

private func answers(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions,
    _ response: UploadResponse, _ error: UploadError
) async throws {
    // row: AFHTTPResponseSerializer
    let bytes = response.body
    // end
    _ = bytes
    // row: AFJSONResponseSerializer
    let receipt = try response.decode(Receipt.self)
    // end
    _ = receipt
    // row: AFXMLParserResponseSerializer, AFPropertyListResponseSerializer, AFImageResponseSerializer
    let parsed = try response.decode(using: parse)
    // end
    _ = parsed
    // row: acceptableStatusCodes
    options.accepts = .only([200, 201, 409])
    // end
    // row: acceptableContentTypes
    let onlyJSON = ClosureInterceptor.judging("type") { isJSON($0) ? .accepted : .rejected(message: "not JSON") }
    configuration.interceptors.append(onlyJSON)
    // end
    // row: a code in the body that means failure
    configuration.interceptors.append(JSONEnvelope(code: "retcode", message: "msg", successCodes: ["0"]))
    // end
    // row: AFNetworkingOperationFailingURLResponseErrorKey, AFNetworkingOperationFailingURLResponseDataErrorKey
    let status = error.response?.status.code
    let said = error.response?.text
    // end
    _ = status
    _ = said
    // row: NSURLErrorTimedOut, NSURLErrorCancelled
    if error.isTimeout { log(error.message) }
    // end
}
