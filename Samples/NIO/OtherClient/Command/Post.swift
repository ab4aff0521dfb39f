import AsyncHTTPClient
import NIOCore
import WaybillMultipart

/// Posts a form with AsyncHTTPClient: Waybill creates the body, AsyncHTTPClient sends it.
///
/// The body is streamed, so a file of any size needs one chunk of memory, and its length is known before the request.
/// A file that changes during the request fails it with a `BodyError`.
///
/// - Returns: The status and the text of the response.
func post(_ form: MultipartForm, to url: String, by client: HTTPClient) async throws -> (status: UInt, text: String) {
    let body = try await form.prepared()
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: body.contentType ?? "")
    request.body = .stream(
        body.chunks(ofSize: 512 * 1024).map { ByteBuffer(bytes: $0) },
        length: body.contentLength.map { .known($0) } ?? .unknown)
    let response = try await client.execute(request, timeout: .seconds(60))
    let content = try await response.body.collect(upTo: 1 << 20)
    return (response.status.code, String(buffer: content))
}
