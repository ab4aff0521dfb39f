// The sample of the page of WaybillMultipart, compiled with no other import.
import WaybillMultipart

/// An HTTP client other than Waybill's.
private protocol OtherClient {
    func send(_ bytes: [UInt8]) async throws
}

private func encoded(_ client: any OtherClient) async throws {
    // snippet: page of the forms
    let form: MultipartForm = [.text("BUSINESSNO", "20260117-0042"), .file("FILE", path: "front.jpg")]
    let body = try await form.prepared()
    print(body.contentType ?? "", body.contentLength ?? 0)
    for try await chunk in body.chunks(ofSize: 524_288) { try await client.send(chunk) }
    // end
}
