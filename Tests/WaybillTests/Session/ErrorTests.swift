import TestSupport
import Testing
import WaybillCore
import WaybillJPEG
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ErrorTests {
    @Test func `the description has code, message, phase, attempt and outcome`() async throws {
        let world = SessionWorld([.responding(.contentTooLarge, body: "s3cr3t")])
        let error = try #require(await world.start().error())
        #expect(
            "\(error)"
                == "rejected: The server responded with 413 Content Too Large. "
                + "The body is larger than the server accepts. [awaitingResponse, attempt 1, rejected]")
    }

    @Test func `the debug description lists every attempt without the response body`() async throws {
        let world = SessionWorld(
            [.breaking(after: 5), .responding(.badRequest, headers: [.setCookie: "s3cr3t"], body: "s3cr3t")])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(1))
        let error = try #require(await task.error())
        #expect(
            String(reflecting: error) == """
                rejected: The server responded with 400 Bad Request. [awaitingResponse, attempt 2, rejected]
                  sent 100, acknowledged 100 bytes
                  response: 400 Bad Request, 6 bytes
                  attempt 1: The script ended the attempt with this error. [retry after 1.0 seconds]
                  attempt 2: 400 Bad Request
                """)
    }

    @Test func `credentials quoted by a transport are redacted`() async throws {
        let transport = QuotingTransport(
            quote: "no way to https://me:pa55word@backend.example/?sign=s1gnature with Bearer t0ken\u{1B}[2J")
        let session = UploadSession(transport: transport)
        let request = UploadRequest(
            .put, "https://me:pa55word@backend.example/?sign=s1gnature", headers: [.authorization: "Bearer t0ken"],
            options: UploadOptions(retry: .none))
        let error = try #require(await session.start(request).error())
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped, "\(error.cause as Any)", "\(error.attempts)"] {
            for secret in ["pa55word", "s1gnature", "t0ken"] { #expect(!text.contains(secret), "\(text)") }
        }
        #expect(!"\(error)".contains("\u{1B}"))
        #expect(error.message.contains("backend.example"))
    }

    @Test func `error codes of body and transport keep their names`() {
        #expect(UploadError.Code("hostNotFound") == .hostNotFound)
        #expect(UploadError.Code(BodyError.Code.sourceChanged.description) == .sourceChanged)
        #expect(UploadError.Code(TransferError.Code.stalled.description) == .stalled)
    }

    @Test func `the innermost explaining error provides the code`() {
        let jpeg = BodyError(
            .preparationFailed, "Part 1: Preparing the content failed", part: "FILE",
            cause: JPEGError(.notAJPEG, "It is a PNG."))
        let image = UploadError(preparing: jpeg)
        #expect(image.code == .notAJPEG)
        #expect(image.message == "It is a PNG.")
        #expect(image.part == "FILE")
        struct Foreign: Error {}
        let foreign = UploadError(preparing: BodyError(.preparationFailed, "its content", part: "X", cause: Foreign()))
        #expect(foreign.code == .preparationFailed)
        #expect(foreign.part == "X")
        #expect(UploadError(preparing: CancellationError()).isCancelled)
    }

    @Test func `an error names its part once`() async throws {
        let body = try #require(await BodyError.of([.text("a", "1"), .json("s\u{200E}", [Double.nan])]))
        for error in [
            UploadError(preparing: body),
            UploadError(.tooFewBytes, body.message, phase: .sending, part: body.part),
        ] {
            let text = "\(error)"
            #expect(text.contains("encodingFailed: Part 2 (") || text.contains("tooFewBytes: Part 2 ("), "\(text)")
            #expect(!text.contains("in part"))
        }
        let picture = UploadError(.notAJPEG, "part of it is no JPEG", phase: .preparing, part: "FILE")
        #expect("\(picture)".hasPrefix("notAJPEG in part \"FILE\": part of it is no JPEG ["))
    }

    @Test func `isTimeout, isRetryable and isCancelled follow code and outcome`() {
        let timeout = UploadError(.stalled, "", phase: .sending, outcome: .incomplete(acknowledged: 1))
        #expect(timeout.isTimeout && timeout.isRetryable && !timeout.isCancelled)
        let cancelled = UploadError(.cancelled, "", phase: .sending, outcome: .notSent)
        #expect(cancelled.isCancelled && !cancelled.isRetryable && !cancelled.isTimeout)
        let unknown = UploadError(.responseTimeout, "", phase: .awaitingResponse, outcome: .unknown)
        #expect(unknown.isTimeout && !unknown.isRetryable)
        let busy = UploadError(
            .rejected, "", phase: .awaitingResponse, outcome: .rejected,
            response: UploadResponse(status: .serviceUnavailable))
        #expect(busy.isRetryable)
        let body = UploadError(.sourceChanged, "", phase: .preparing)
        #expect(!body.isRetryable)
    }

    @Test func `a response that is not the expected JSON fails decoding, and the upload counts as succeeded`() throws {
        let response = UploadResponse(status: .ok, body: Array("<html>".utf8))
        let error = #expect(throws: UploadError.self) { try response.decode([Int].self) }
        #expect(error?.code == .decodingFailed)
        #expect(error?.phase == .succeeded)
        #expect(error?.isRetryable == false)
        #expect(error?.cause is DecodingError)
        #expect(error?.response?.text == "<html>")
        #expect("\(response)" == "200 OK, 6 bytes")
    }
}

extension BodyError {
    /// The error of preparing a form.
    fileprivate static func of(_ form: MultipartForm) async -> BodyError? {
        do {
            _ = try await form.prepared()
            return nil
        } catch {
            return error
        }
    }
}

/// Fails with a message that quotes its input.
private struct QuotingTransport: UploadTransport {
    private struct Control: TransferControl {
        func cancel() {}
        func pause() {}
        func resume() {}
        func limit(to rate: ByteCount?) {}
    }

    let quote: String

    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        let error = TransferError(.other, quote, outcome: .notSent)
        sink.transfer(.ended(TransferEnd(result: .failure(error), evidence: TransferCounters())))
        return Control()
    }
}
