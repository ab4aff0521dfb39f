import TestSupport
import Testing
import Waybill

/// A connection that served one upload and breaks during the next, where libcurl would resend automatically.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct KeepAliveFaultTests {
    private let session = UploadSession()

    private var once: UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.expectContinue = .never
        return options
    }

    private func upload(
        _ size: Int, _ shape: Shape, to server: LoopbackServer, _ options: UploadOptions? = nil
    ) async -> Result<UploadResponse, UploadError> {
        let folder: TemporaryDirectory
        let content: UploadContent
        do {
            folder = try TemporaryDirectory()
            let file = try folder.writeSparse("card.bin", size: size)
            content = shape == .rawPUT ? .file(path: file) : .form([.file("FILE", path: file)])
        } catch { return .failure(UploadError(.other, "\(error)", phase: .preparing)) }
        defer { withExtendedLifetime(folder) {} }
        let request = UploadRequest(
            shape == .rawPUT ? .put : .post, server.url(), content: content, options: options ?? once)
        do throws(UploadError) { return .success(try await session.send(request)) } catch { return .failure(error) }
    }

    private var twice: UploadOptions {
        var options = once
        options.retry = RetryPolicy(maxRetries: 1, baseDelay: .milliseconds(1))
        return options
    }

    /// The server's kernel acknowledges nothing of a small upload unless the server takes 40 ms to close; of a large
    /// one not everything is sent. A busy machine may therefore need several rounds for the small upload. In no round
    /// does anything arrive twice.
    ///
    /// The preceding upload is large, because a kernel immediately acknowledges data that exceeds the largest segment
    /// seen on the connection. After small uploads only, that may be any upload.
    @Test(arguments: [1, 1_000, 16 << 20], Shape.allCases)
    func `an upload on a reused connection closed before reading is resent once`(size: Int, shape: Shape)
        async throws
    {
        var quickRounds = 0
        for _ in 0..<50 {
            let server = try LoopbackServer(.respond(200), .closeDuringRequest(), keepsBodies: false)
            #expect(try await upload(200_000, shape, to: server).get().status == .ok)
            let start = ContinuousClock.now
            let result = await upload(size, shape, to: server, twice)
            if .now - start < .milliseconds(30) { quickRounds += 1 }
            #expect(server.requests.allSatisfy { $0.isComplete })
            switch result {
            case .success(let response):
                #expect(server.requests.count == 2)
                // If no byte of the body had been sent, the request may be resent within the attempt.
                for attempt in response.attempts.dropLast() {
                    let kind = attempt.outcome.map(FaultRow.Kind.init)
                    let isHarmless = kind == .notSent || kind == .incomplete && attempt.sent < size
                    #expect(isHarmless || kind == .unknown && shape == .rawPUT, "\(attempt)")
                }
                if response.attempts.count == 2 { return }
            case .failure(let error):
                #expect(error.outcome == .unknown && error.sent >= size, "\(error)")
                #expect(server.requests.count == 1)
            }
        }
        #expect(quickRounds < 5, "not one of 50 uploads was sent again, though \(quickRounds) were quick")
    }

    @Test(arguments: [1_000, 16 << 20], Shape.allCases)
    func `an upload on a connection that was already closed arrives once`(size: Int, shape: Shape) async throws {
        let server = try LoopbackServer(
            Behaviour([.read(), .send(ScriptedResponse(200)), .close(.abandon)]), keepsBodies: false)
        #expect(try await upload(1_000, shape, to: server).get().status == .ok)
        let response = try await upload(size, shape, to: server, twice).get()
        #expect(response.status == .ok)
        #expect(server.requests.count { $0.isComplete } == 2)
    }

    /// Applies to every kind of close, including a reset without an acknowledgement: by reading, the server's kernel
    /// has acknowledged data.
    @Test(
        arguments: [Behaviour.Closing.finish, .abandon, .reset].flatMap { closing in
            [1, 1_000, 100_000, 16 << 20].map { (closing, $0) }
        }, Shape.allCases)
    func `an upload read by a server that then closes is resent only with an idempotent method`(
        fault: (closing: Behaviour.Closing, size: Int), shape: Shape
    ) async throws {
        let server = try LoopbackServer(.respond(200), .closeWithoutResponse(fault.closing), keepsBodies: false)
        #expect(try await upload(1_000, shape, to: server).get().status == .ok)
        let result = await upload(fault.size, shape, to: server, twice)
        if shape == .rawPUT {
            let response = try result.get()
            #expect(response.attempts.map(\.outcome) == [.unknown, nil])
            #expect(server.requests.count == 3)
            return
        }
        guard case .failure(let error) = result else {
            Issue.record("no response: \(result)")
            return
        }
        #expect(error.code == .connectionLost || error.code == .resendRefused, "\(error)")
        #expect(error.outcome == .unknown)
        #expect(error.attempts.count == 1)
        #expect(server.requests.count == 2)
    }
}
