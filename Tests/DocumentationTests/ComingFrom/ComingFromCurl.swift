// The rows of Docs/ComingFromCurl.md, compiled: each region is the right-hand cell of the row that it is named after. Rows
// whose cell is a command line are parsed by the command itself.
import Foundation
import Logging
import Waybill

private func log(_ text: String) {}

// none: -d, --json DATA
// none: -O, -C -
// none: -n, ~/.netrc

private func programs(
    _ session: UploadSession, _ configuration: inout UploadSession.Configuration, _ form: inout MultipartForm,
    _ url: URL, _ path: String, _ token: String, _ chunks: AsyncStream<[UInt8]>, _ error: UploadError, _ logger: Logger
) async throws {
    // row: Process with -F for each part
    let response = try await session.upload(form, to: url)
    // end
    // row: -F name=value, -F token=…, -F file=@path;type=…;filename=…
    form.append(.text("DOCTYPE", "ID"))
    form.append(.text("TOKEN", .secret(token)))
    form.append(.file("FILE", path: path, fileName: "front.jpg", contentType: "image/jpeg"))
    // end
    // row: -F file=@-
    form.append(.stream("FILE", chunks, length: nil, fileName: "scan.pdf"))
    // end
    // row: -F 'meta={…};type=application/json'
    form.append(.json("META", ["side": "front"]))
    // end
    // row: --form-escape
    form.compatibility = .backslashEscapes
    // end
    // row: -H
    let request = UploadRequest(.post, url, headers: [.acceptLanguage: "zh-CN"], content: .form(form))
    // end
    // row: -T file URL
    let stored = try await session.upload(.file(path: path), to: url)
    // end
    _ = stored
    // row: -w '%{time_total} %{size_upload}'
    log("\(response.metrics.total) \(response.metrics.requestBytes)")
    // end
    // row: $?
    log("\(error.code) \(error.outcome)")
    // end
    // row: --trace-ascii
    configuration.logger = logger
    // end
    // row: a curl command line
    log(session.curlCommand(for: request))
    // end
}

private func options(
    _ configuration: inout UploadSession.Configuration, _ options: inout UploadOptions, _ form: inout MultipartForm,
    _ data: Data, _ chunks: AsyncStream<[UInt8]>, _ length: Int64, _ path: String, _ task: UploadTask
) async {
    // row: curl_mime_addpart, curl_formadd, CURLOPT_READFUNCTION, CURLOPT_SEEKFUNCTION
    form.append(.data("FILE", data, fileName: "front.jpg"))
    let body = UploadContent.stream(chunks, length: length)
    let again = UploadContent.stream(chunks, length: length, replay: .fromCopy)
    // end
    _ = body
    _ = again
    // row: CURLOPT_XFERINFOFUNCTION
    for await progress in task.progress { log("\(progress.acknowledged)") }
    // end
    // row: CURLOPT_CONNECTTIMEOUT_MS, CURLOPT_LOW_SPEED_TIME, CURLOPT_TIMEOUT_MS
    options.transfer.limits.connect = .seconds(5)
    options.transfer.limits.stall = .seconds(15)
    options.transfer.limits.total = .seconds(60)
    // end
    // row: CURLOPT_MAX_SEND_SPEED_LARGE
    options.transfer.rateLimit = .kibibytes(200)
    // end
    // row: CURLOPT_CAINFO, CURLOPT_PROXY, CURLOPT_HTTP_VERSION
    options.transfer.tls.certificateAuthorities = path
    options.transfer.proxy = "socks5h://proxy.example:1080"
    options.transfer.httpVersion = .http2
    // end
    // row: CURLOPT_EXPECT_100_TIMEOUT_MS, Expect:
    options.transfer.expectContinue = .above(.mebibytes(8))
    // end
    // row: CURLOPT_INTERFACE
    options.transfer.curlOptions = [CurlOption("INTERFACE", .text("eth1"))]
    // end
    // row: curl_easy_pause, CURLMOPT_MAX_TOTAL_CONNECTIONS
    task.pause()
    configuration.maximumConcurrentTransfers = 8
    // end
    // row: CURLOPT_FOLLOWLOCATION, CURLOPT_POSTREDIR
    options.redirects = .resend
    // end
    // row: CURLOPT_SSL_VERIFYPEER 0
    options.transfer.tls.insecureSkipVerification = true
    // end
    // none: CURLOPT_COOKIEFILE
    // none: curl_easy_perform, curl_multi_socket_action
}
