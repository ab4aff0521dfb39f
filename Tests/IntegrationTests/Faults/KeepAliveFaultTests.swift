import TestSupport
import Testing
import Waybill

/// A connection that served one upload and dies under the next, where libcurl alone would send again.
@Suite(.timeLimit(.minutes(1))) struct KeepAliveFaultTests {
    private let session = UploadSession()

    private var once: UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.expectContinue = .never
        return options
    }

    private func upload(_ size: Int, _ shape: Shape, to server: LoopbackServer) async -> Result<
        UploadResponse, UploadError
    > {
        let folder: TemporaryDirectory
        let content: UploadContent
        do {
            folder = try TemporaryDirectory()
            let file = try folder.writeSparse("card.bin", size: size)
            content = shape == .rawPUT ? .file(path: file) : .form([.file("FILE", path: file)])
        } catch { return .failure(UploadError(.other, "\(error)", phase: .preparing)) }
        defer { withExtendedLifetime(folder) {} }
        let request = UploadRequest(
            shape == .rawPUT ? .put : .post, server.url(), content: content, options: once)
        do throws(UploadError) { return .success(try await session.send(request)) } catch { return .failure(error) }
    }

    /// Nothing of it was read. Whether a byte was handed over before the end was noticed is a race; what is believed has
    /// to follow from it, and a body of which a byte left must not be sent a second time behind the caller's back.
    @Test(arguments: [1_000, 16 << 20], Shape.allCases)
    func `a server that closes under the second upload gets it once or not at all`(size: Int, shape: Shape)
        async throws
    {
        let server = try LoopbackServer(.respond(200), .closeUnderRequest(), keepsBodies: false)
        #expect(try await upload(1_000, shape, to: server).get().status == .ok)
        let result = await upload(size, shape, to: server)
        #expect(server.requests.count { $0.isComplete } <= 2)
        guard case .failure(let error) = result else {
            #expect(server.requests.count == 2)
            return
        }
        #expect(server.requests.count == 1)
        #expect(error.code == .connectionLost || error.code == .resendRefused, "\(error)")
        switch FaultRow.Kind(error.outcome) {
        case .notSent: #expect(error.acknowledged == 0)
        case .incomplete: #expect(error.sent < size + 1_000)
        case .unknown: #expect(error.sent >= size)
        case .rejected: Issue.record("nobody answered: \(error)")
        }
    }

    @Test(arguments: [1_000, 16 << 20], Shape.allCases)
    func `a server that takes the second upload and closes is not sent it again`(size: Int, shape: Shape) async throws {
        let server = try LoopbackServer(.respond(200), .closeWithoutAnswer(), keepsBodies: false)
        #expect(try await upload(1_000, shape, to: server).get().status == .ok)
        let result = await upload(size, shape, to: server)
        guard case .failure(let error) = result else {
            Issue.record("nobody answered: \(result)")
            return
        }
        // libcurl wants to send it again and is not let: that, or why it wanted to, is what is told.
        #expect(error.code == .connectionLost || error.code == .resendRefused, "\(error)")
        #expect(error.outcome == .unknown)
        #expect(server.requests.count == 2)
    }
}
