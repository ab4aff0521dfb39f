// The samples of the guides to servers and to security, compiled. The types of the web server are minimal.
import Waybill

private struct Body: AsyncSequence, Sendable {
    struct Chunk: Sendable {
        var readableBytesView: [UInt8]
    }

    var chunks: AsyncStream<Chunk>
    func makeAsyncIterator() -> AsyncStream<Chunk>.Iterator { chunks.makeAsyncIterator() }
}

private struct Request: Sendable {
    var body: AsyncStream<[UInt8]>
    var contentType: String
}

private struct RoutedRequest: Sendable {
    var body: Body
    var headers: HTTPFields
}

private struct Answer: Sendable {
    var status: Int
    var text: String
}

private struct Router: Sendable {
    func post(_ path: String, _ work: @escaping @Sendable (RoutedRequest, Int) async throws -> Answer) {}
}

// snippet: receive
private func receive(_ request: Request) async throws -> Answer {
    let folder = try await UploadDirectory(path: "/var/lib/cards")
    var fields: [String: String] = [:]
    do {
        let form = try IncomingForm(request.body, contentType: request.contentType)
        for try await part in form {
            if part.fileName == nil {
                fields[part.name] = try await part.text(atMost: .kibibytes(64))
            } else {
                _ = try await part.collect(to: folder)
            }
        }
        let files = try await form.keepFiles()
        return Answer(status: 200, text: "\(files.count) files of \(fields["BUSINESSNO"] ?? "?")")
    } catch {
        return Answer(status: error.responseStatus, text: error.message)
    }
}
// end

private func limited(_ request: Request) throws {
    // snippet: limits of received forms
    var limits = MultipartLimits()
    limits.total = .mebibytes(64)
    limits.parts = 20
    let form = try IncomingForm(request.body, contentType: request.contentType, limits: limits)
    // end
    _ = form
}

private func forwarding(_ router: Router, _ session: UploadSession, _ upstream: String) {
    // snippet: forward
    router.post("/forward") { request, _ in
        let form = try IncomingForm(
            request.body.map { $0.readableBytesView }, contentType: request.headers[.contentType] ?? "")
        for try await part in form where part.fileName != nil {
            var outgoing: MultipartForm = [
                .stream("FILE", part.chunks, length: nil, fileName: part.head.safeFileName ?? "unnamed")
            ]
            outgoing.unknownLength = .chunked  // the length is unknown before the part's end
            _ = try await session.upload(outgoing, to: upstream)
        }
        return Answer(status: 200, text: "sent on")
    }
    // end
}

private func secrets(_ form: inout MultipartForm, _ options: inout UploadOptions, _ token: String) {
    // snippet: secrets
    form.append(.text("TOKEN", .secret(token)))
    options.authentication = .bearer(.secret(token))
    options.secretFields.insert(HTTPField.Name("X-Branch-Key")!)  // a field of yours
    print(form)  // … TOKEN=<redacted> …
    // end
}
