import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

/// Runs sessions over libcurl and a socket server: the real transport behaves as the scripted one.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct RealTransportTests {
    private func session() -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.jitter = { 0 }
        return UploadSession(configuration: configuration)
    }

    @Test func `a form arrives byte for byte, with progress to the last byte`() async throws {
        let server = try LoopbackServer(.respond(ScriptedResponse(200, text: #"{"RETCODE":"000000"}"#)))
        let form: MultipartForm = [
            .text("TOKEN", .secret("s3cr3t")), .data("FILE", [UInt8](repeating: 7, count: 300_000), fileName: "a.bin"),
        ]
        let seen = Watched<[UploadProgress]>([])
        let response = try await session().upload(form, to: server.url("/upload")) { progress in
            seen.update { $0.append(progress) }
        }
        #expect(response.text.contains("000000"))
        let request = try await server.request(0)
        #expect(request.method == "POST")
        #expect(request.value(of: "User-Agent") == "Waybill")
        #expect(request.value(of: "Content-Length") == "\(request.body.count)")
        #expect(request.body.count > 300_000)
        let last = try #require(seen.value.last)
        #expect(last.phase == .succeeded)
        #expect(last.acknowledged == Int64(request.body.count))
        #expect(last.parts.map(\.acknowledged) == [6, 300_000])
    }

    @Test func `an interrupted body is sent again completely`() async throws {
        // The buffers of both kernels hold less than the body: it cannot have left completely before the reset.
        let server = try LoopbackServer(
            .reset(afterBodyBytes: 100_000), .respond(201), receiveBuffer: .kibibytes(64), keepsBodies: false)
        let response = try await session().upload(
            .data([UInt8](repeating: 7, count: 8 << 20)), to: server.url())
        #expect(response.status == .created)
        #expect(response.attempts.count == 2)
        guard case .incomplete = response.attempts.first?.outcome else {
            Issue.record("\(response.attempts)")
            return
        }
        #expect(try await server.request(1).bodyBytesRead == 8 << 20)
    }

    @Test func `an early rejection has the body of the response`() async throws {
        let server = try LoopbackServer(.respond(ScriptedResponse(413, text: "too large")))
        let task = session().start(.data([1, 2, 3]), to: server.url())
        let error = try #require(await task.error())
        #expect(error.code == .rejected)
        #expect(error.outcome == .rejected)
        #expect(error.response?.text == "too large")
    }

    @Test func `a refused connection is retried and fails as cannotConnect`() async throws {
        let port = try ClosedPort()
        let task = session().start(
            .data([1]), to: port.url(), options: UploadOptions(retry: RetryPolicy(maxRetries: 2)))
        let error = try #require(await task.error())
        #expect(error.code == .cannotConnect)
        #expect(error.outcome == .notSent)
        #expect(error.attempts.count == 3)
    }

    @Test func `a cancel while awaiting the response has an unknown outcome`() async throws {
        let server = try LoopbackServer(.neverRespond)
        let task = session().start(.data([1, 2, 3]), to: server.url())
        await task.reaches(.awaitingResponse)
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        #expect(error.outcome == .unknown)
    }

    @Test func `two hundred concurrent uploads share one session`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200), keepsBodies: false)
        let session = session()
        let tasks = (0..<200).map { session.start(.data([UInt8](repeating: 1, count: 1_000 + $0)), to: server.url()) }
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(server.requests.map(\.bodyBytesRead).sorted() == (0..<200).map { 1_000 + $0 })
        await session.close(.drain)
    }
}
