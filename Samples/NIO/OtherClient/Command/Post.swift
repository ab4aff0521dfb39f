import AsyncHTTPClient
import NIOCore
import WaybillMultipart

/// Posts a form by AsyncHTTPClient: Waybill makes the bytes, somebody else sends them.
///
/// The body goes out chunk by chunk, so a file of any size costs one chunk of memory, and its length is known before the
/// first byte leaves. A file that changes meanwhile fails the request with a `BodyError`.
///
/// - Returns: The status and the text of the answer.
func post(_ form: MultipartForm, to url: String, by client: HTTPClient) async throws -> (status: UInt, text: String) {
    let body = try await form.prepared()
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "Content-Type", value: body.contentType ?? "")
    request.body = .stream(
        body.chunks(ofSize: 512 * 1024).map { ByteBuffer(bytes: $0) },
        length: body.contentLength.map { .known($0) } ?? .unknown)
    let response = try await client.execute(request, timeout: .seconds(60))
    let answer = try await response.body.collect(upTo: 1 << 20)
    return (response.status.code, String(buffer: answer))
}
