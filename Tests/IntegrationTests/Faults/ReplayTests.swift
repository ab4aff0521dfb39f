import TestSupport
import Testing
import Waybill

/// A resent body is identical: the boundary, the order and every byte.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ReplayTests {
    @Test(arguments: Shape.allCases)
    func `retries and redirects of an upload are byte-identical at the server`(shape: Shape) async throws {
        let folder = try TemporaryDirectory()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) }
        let file = try folder.write("card.bin", bytes)
        let server = try LoopbackServer(
            .respond(503, headers: [("Retry-After", "0")]), .respond(307, headers: [("Location", "/there")]),
            .respond(429, headers: [("Retry-After", "0")]), .respond(308, headers: [("Location", "/over/there")]),
            .respond(200))
        var options = UploadOptions()
        options.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1))
        let content: UploadContent =
            shape == .rawPUT
            ? .file(path: file)
            : .form([.text("DOCTYPE", "ID"), .text("TOKEN", .secret("t0ken")), .file("FRONT", path: file)])
        let request = UploadRequest(
            shape == .rawPUT ? .put : .post, server.url("/here"), content: content, options: options)
        let response = try await UploadSession().send(request)
        #expect(response.attempts.count == 5)

        let requests = server.requests
        #expect(requests.map(\.path) == ["/here", "/here", "/there", "/there", "/over/there"])
        #expect(Set(requests.map { $0.value(of: "Content-Type") }).count == 1)
        var sums: Set<String> = []
        for request in requests {
            #expect(request.isComplete)
            sums.insert(try await ChildProcess.run("sha256sum", input: request.body).text)
        }
        #expect(sums.count == 1, "\(sums)")
        if shape == .rawPUT { #expect(requests[0].body == bytes) }
    }
}
