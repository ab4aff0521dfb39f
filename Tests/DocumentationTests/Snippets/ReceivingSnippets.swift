import Waybill

/// A request of a web server.
private struct Request {
    var body: AsyncStream<[UInt8]>
    var contentType: String
}

private func receiving(_ request: Request) async throws -> ([CollectedFile], String) {
    var number = ""
    // snippet: receiving
    let form = try IncomingForm(request.body, contentType: request.contentType)
    let folder = try await UploadDirectory(path: "/var/lib/cards")
    for try await part in form {
        switch part.name {
        case "front": _ = try await part.collect(to: folder)
        case "BUSINESSNO": number = try await part.text()
        default: break  // read over, under the same limits
        }
    }
    let files = try await form.keepFiles()
    // end
    return (files, number)
}
