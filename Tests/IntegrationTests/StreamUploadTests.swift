import Glibc
import TestSupport
import Testing
import Waybill

/// Streams as parts, through the session, libcurl and a socket.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct StreamUploadTests {
    static let chunks = (0..<40).map { number in (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* (number + 3)) } }
    static let bytes = chunks.flatMap(\.self)

    /// Returns a stream that counts the chunks pulled. `before` is called with the number of each.
    static func stream(
        _ pulled: Watched<Int>, upTo count: Int = 40, before: @escaping @Sendable (Int) async -> Void = { _ in }
    ) -> AsyncStream<[UInt8]> {
        let next = Watched(0)
        return AsyncStream(unfolding: {
            let number = next.value
            guard number < count else { return nil }
            await before(number)
            next.update { $0 += 1 }
            pulled.update { $0 += 1 }
            return chunks[number]
        })
    }

    func expectComplete(_ request: RecordedRequest) throws {
        let parts = try Received.parts(of: request)
        #expect(parts.map(\.name) == ["a", "s", "b"])
        #expect(parts[1].bytes == Self.bytes)
    }

    func form(_ part: MultipartPart) -> MultipartForm { [.text("a", "1"), part, .text("b", "2")] }

    @Test func `streams of known and unknown length are sent with Content-Length`() async throws {
        let server = try LoopbackServer()
        for length in [Int64(Self.bytes.count), nil] {
            let part = MultipartPart.stream("s", Self.stream(Watched(0)), length: length, fileName: "s.bin")
            let response = try await UploadSession().upload(form(part), to: server.url())
            #expect(response.status == .ok)
        }
        for request in server.requests {
            #expect(request.value(of: "Content-Length") == String(request.body.count))
            #expect(request.value(of: "Transfer-Encoding") == nil)
            try expectComplete(request)
        }
        #expect(server.requests.count == 2)
    }

    @Test func `a chunked form is sent without Content-Length`() async throws {
        let server = try LoopbackServer()
        var form = form(.stream("s", Self.stream(Watched(0)), length: nil, fileName: "s.bin"))
        form.unknownLength = .chunked
        _ = try await UploadSession().upload(form, to: server.url())
        let request = try await server.request(0)
        #expect(request.value(of: "Transfer-Encoding") == "chunked" && request.value(of: "Content-Length") == nil)
        try expectComplete(request)
    }

    @Test func `a one-shot stream with a copy is retried completely and pulled once`() async throws {
        let server = try LoopbackServer(.reset(afterBodyBytes: 700_000), .respond(503), otherwise: .respond(200))
        let pulled = Watched(0)
        // Half of the stream waits for the reset: a body passed on completely might have arrived and is not resent.
        let stream = Self.stream(pulled) { number in
            guard number == 20 else { return }
            _ = try? await server.waitUntil { $0.connections.first?.isClosed == true }
        }
        let part = MultipartPart.stream(
            "s", stream, length: Int64(Self.bytes.count), fileName: "s.bin", replay: .fromCopy)
        var request = UploadRequest(.post, server.url(), content: .form(form(part)))
        request.options = UploadOptions()
        request.options?.retry = RetryPolicy(maxRetries: 3, baseDelay: .milliseconds(1))
        let response = try await UploadSession().send(request)
        #expect(response.status == .ok && response.attempts.count == 3)
        #expect(pulled.value == 40)
        for request in server.requests.dropFirst() { try expectComplete(request) }
    }

    @Test func `a one-shot stream without a copy is not retried`() async throws {
        let server = try LoopbackServer(.reset(afterBodyBytes: 700_000))
        let part = MultipartPart.stream("s", Self.stream(Watched(0)), length: Int64(Self.bytes.count))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(form(part), to: server.url())
        }
        #expect(error?.attempts.count == 1 && server.requests.count == 1)
    }

    @Test func `a stream that is too short fails with its part, and nothing arrives complete`() async throws {
        let server = try LoopbackServer()
        let part = MultipartPart.stream("s", Self.stream(Watched(0), upTo: 39), length: Int64(Self.bytes.count))
        let error = await #expect(throws: UploadError.self) {
            try await UploadSession().upload(form(part), to: server.url())
        }
        #expect(error?.code == .tooFewBytes && error?.part == "s")
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test func `cancelling an upload cancels its stream`() async throws {
        let server = try LoopbackServer()
        let begun = Watched(false)
        let ended = Watched(false)
        let never = AsyncStream<[UInt8]>(unfolding: {
            begun.update { $0 = true }
            let (stream, keep) = AsyncStream<Void>.makeStream()
            for await _ in stream {}
            withExtendedLifetime(keep) {}
            ended.update { $0 = true }
            return nil
        })
        let task = UploadSession.shared.start(form(.stream("s", never, length: 10)), to: server.url())
        try await begun.waitUntil { $0 }
        task.cancel()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.isCancelled == true)
        try await ended.waitUntil { $0 }
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test func `the curl command of a stream states that a file must replace it`() {
        let command = form(.stream("s", Self.stream(Watched(0)), length: nil, fileName: "s.bin")).curlCommand(
            to: "http://h/")
        #expect(command.hasPrefix("# Part 2 (\"s\") is a stream. Replace the placeholder with a file.\n"))
    }
}

/// A full disk, simulated with a limit for the size of files.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct FullDiskTests {
    @Test func `a full disk while spilling a stream is a typed error and leaves nothing open`() async throws {
        guard IsolatedProcess.isIsolated else { return try await IsolatedProcess.run("FullDiskTests") }
        // The limit applies to the process, so the test runs in a separate one. Without a handler the signal would
        // end it.
        _ = signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 1 << 20, rlim_max: rlim_t.max)
        try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
        let folder = try TemporaryDirectory()
        let before = ProcessResources.now()
        var form: MultipartForm = [
            .text("a", "1"), .stream("s", StreamUploadTests.stream(Watched(0)), length: nil, fileName: "s.bin"),
        ]
        form.temporaryDirectory = folder.path
        form.unknownLength = .spill(threshold: .bytes(100))
        let error = await #expect(throws: BodyError.self) { try await form.prepared() }
        #expect(error?.code == .diskFull && error?.part == "s" && error?.path == folder.path)
        let after = await ProcessResources.settled { $0.descriptors.count <= before.descriptors.count }
        print("ProcessResources: \(before.descriptors.count) descriptors, then \(after.descriptors.count)")
        #expect(after.descriptors.count <= before.descriptors.count, "before: \(before)\nafter: \(after)")
        #expect(try folder.names() == [])
    }
}
