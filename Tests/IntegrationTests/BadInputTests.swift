import Glibc
import TestSupport
import Testing
import Waybill

/// Invalid inputs from callers and faulty behavior of servers: each causes a specific error, and nothing that could
/// be mistaken for the complete body is sent.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct BadInputTests {
    private let folder: TemporaryDirectory
    private let server: LoopbackServer
    private let session = UploadSession()

    init() throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer()
    }

    private var once: UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        return options
    }

    /// Uploads and returns the error that must occur.
    private func failure(
        _ form: MultipartForm, to url: String? = nil, options: UploadOptions? = nil
    ) async throws -> UploadError {
        do {
            let response = try await session.upload(form, to: url ?? server.url(), options: options ?? once)
            Issue.record("expected an error, got \(response.status)")
            throw Missing()
        } catch let error as UploadError {
            return error
        }
    }

    private struct Missing: Error {}

    /// Expects that no connection was made.
    private func expectNothingSent(_ error: UploadError) {
        #expect(error.outcome == .notSent)
        #expect(error.sent == 0)
        #expect(server.state.connections.isEmpty)
    }

    // MARK: Files

    @Test func `a missing file fails before any connection`() async throws {
        let error = try await failure([.file("FILE", path: folder.path("absent.jpg"))])
        #expect(error.code == .fileNotFound)
        #expect(error.part == "FILE")
        #expect(error.phase == .preparing)
        expectNothingSent(error)
    }

    @Test func `a directory is not a regular file`() async throws {
        let error = try await failure([.file("FILE", path: folder.path)])
        #expect(error.code == .notARegularFile)
        expectNothingSent(error)
    }

    @Test func `a FIFO without a writer is not a regular file`() async throws {
        let path = folder.path("pipe")
        try succeed(unsafe mkfifo(path, 0o600))
        let error = try await failure([.file("FILE", path: path)])
        #expect(error.code == .notARegularFile)
        expectNothingSent(error)
    }

    @Test(arguments: ["/dev/null", "/dev/zero"]) func `a device is not a regular file`(path: String) async throws {
        let error = try await failure([.file("FILE", path: path)])
        #expect(error.code == .notARegularFile)
        expectNothingSent(error)
    }

    /// Root may read any file except write-only sysfs attributes, which the kernel refuses to read.
    @Test(.enabled(if: getuid() != 0 || isThere(writeOnlyAttribute), "run by root, without a sysfs to refuse it"))
    func `an unreadable file fails before any connection`() async throws {
        let path = getuid() == 0 ? writeOnlyAttribute : try folder.write("secret.jpg", "x")
        if getuid() != 0 { try succeed(unsafe chmod(path, 0)) }
        let error = try await failure([.file("FILE", path: path)])
        #expect(error.code == .fileNotReadable)
        #expect(error.part == "FILE")
        expectNothingSent(error)
    }

    /// The change of a file while it is sent.
    enum Change: String, CaseIterable {
        case shrink, grow, rewrite, replace, remove
    }

    @Test(arguments: Change.allCases, [false, true])
    func `a file that changes while it is sent fails as sourceChanged`(change: Change, isRaw: Bool) async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 200_000, until: gate), receiveBuffer: .kibibytes(64))
        let size = 24 << 20
        let path = try folder.writeSparse("card.jpg", size: size)
        let content: UploadContent =
            isRaw ? .file(path: path, contentType: nil) : .form([.file("FILE", path: path)])
        let task = session.start(content, to: server.url(), method: .post, options: once)
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 200_000 }

        switch change {
        case .shrink: try succeed(unsafe truncate(path, 1_000_000))
        case .grow: try succeed(unsafe truncate(path, off_t(size + 1)))
        case .rewrite: try overwriteLastByte(of: path, size: size)
        case .replace:
            let other = try folder.writeSparse("other", size: size)
            try succeed(unsafe rename(other, path))
        case .remove: try succeed(unsafe unlink(path))
        }
        gate.open()

        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.code == .sourceChanged)
        guard case .incomplete? = error?.outcome else {
            Issue.record("outcome \(String(describing: error?.outcome))")
            return
        }
        _ = try await server.peerEnd()
        let request = server.requests[0]
        #expect(!request.isComplete)
        let announced = Int(request.value(of: "Content-Length") ?? "") ?? 0
        #expect(request.bodyBytesRead < announced)
        if !isRaw { #expect(!String(decoding: request.body.suffix(200), as: UTF8.self).contains("--\r\n")) }
    }

    private func overwriteLastByte(of path: String, size: Int) throws {
        let descriptor = unsafe open(path, O_WRONLY)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let byte: [UInt8] = [1]
        let written = unsafe byte.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, 1, off_t(size - 1)) }
        try #require(written == 1)
    }

    private func succeed(_ result: Int32) throws {
        try #require(result == 0, "errno \(errno)")
    }

    // MARK: Form contents

    @Test func `an empty field name is refused`() async throws {
        let error = try await failure([.text("a", "b"), .text("", "value")])
        #expect(error.code == .emptyFieldName)
        #expect(error.message.contains("2") || error.message.contains("1"))
        expectNothingSent(error)
    }

    @Test(arguments: ["image/jpeg\r\nX-Evil: 1", "image/jpeg\n", "image/\rjpeg", "image/jpeg\0", "image/\u{7f}jpeg"])
    func `a control character in a content type is refused`(type: String) async throws {
        let error = try await failure([.data("FILE", [1], fileName: "a.jpg", contentType: type)])
        #expect(error.code == .invalidContentType)
        #expect(error.part == "FILE")
        expectNothingSent(error)
    }

    // MARK: Destinations

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "/card", "", "http://", "not a url"])
    func `a URL that is not for uploads is refused`(url: String) async throws {
        let error = try await failure([.text("a", "b")], to: url)
        #expect(error.code == .invalidURL)
        expectNothingSent(error)
    }

    @Test func `an unknown host fails as hostNotFound`() async throws {
        let error = try await failure([.text("a", "b")], to: "http://\(TestHost.absent("bad-input"))/")
        #expect(error.code == .hostNotFound)
        expectNothingSent(error)
    }

    @Test func `a hanging name lookup ends at the connect timeout`() async throws {
        let name = HangingHostName()
        var options = once
        options.transfer.limits.connect = .milliseconds(300)
        let error = try await failure([.text("a", "b")], to: "http://\(name.host)/", options: options)
        #expect(error.code == .connectTimeout)
        #expect(error.isTimeout)
        #expect(error.outcome == .notSent)
    }

    @Test func `a refused port fails as cannotConnect`() async throws {
        let port = try ClosedPort()
        let error = try await failure([.text("a", "b")], to: port.url())
        #expect(error.code == .cannotConnect)
        expectNothingSent(error)
    }

    // MARK: Server behavior

    @Test func `a server that closes during the body leaves the upload incomplete`() async throws {
        let server = try LoopbackServer(.close(afterBodyBytes: 500_000, .abandon))
        let path = try folder.writeSparse("large.bin", size: 32 << 20)
        let error = try await failure([.file("FILE", path: path)], to: server.url())
        #expect(error.code == .connectionLost)
        guard case .incomplete = error.outcome else {
            Issue.record("outcome \(error.outcome)")
            return
        }
    }

    @Test func `an early 413 is returned as the response`() async throws {
        let answer = ScriptedResponse(413, headers: [("Connection", "close")], text: "too large")
        let server = try LoopbackServer(.early(answer, then: .close(.finish)))
        let path = try folder.writeSparse("large.bin", size: 32 << 20)
        let error = try await failure([.file("FILE", path: path)], to: server.url())
        #expect(error.code == .rejected)
        #expect(error.outcome == .rejected)
        #expect(error.response?.status.code == 413)
        #expect(error.response?.text == "too large")
        #expect(error.sent < 32 << 20)
    }

    @Test func `a response cut inside its head leaves the outcome unknown`() async throws {
        let server = try LoopbackServer(.truncatedResponse("HTTP/1.1 200 OK\r\nConte"))
        let error = try await failure([.text("a", "b")], to: server.url())
        #expect(error.code == .responseIncomplete)
        #expect(error.outcome == .unknown)
        #expect(server.requests.count == 1)
    }

    @Test func `a response without an end is too large`() async throws {
        let server = try LoopbackServer(.endlessBody)
        let error = try await failure([.text("a", "b")], to: server.url())
        #expect(error.code == .responseTooLarge)
        #expect(error.outcome == .unknown)
    }
}

private let writeOnlyAttribute = "/sys/bus/platform/drivers_probe"

private func isThere(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
