import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

/// An attempt with a transport that responds before it returns the control of a request.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableAttemptTests {
    /// The control of a request that has ended.
    private struct EndedControl: TransferControl {
        func cancel() {}
        func pause() {}
        func resume() {}
        func limit(to rate: ByteCount?) {}
    }

    private final class Recorder: TransferSink {
        let ends = Watched<[TransferEnd]>([])
        var wantsProgress: Bool { false }

        func transfer(_ event: TransferEvent) {
            if case .ended(let end) = event { ends.update { $0.append(end) } }
        }
    }

    private static func respond(to request: TransferRequest, _ sink: any TransferSink) {
        var fields: HTTPFields = [.tusResumable: "1.0.0"]
        var status = 204
        switch request.method {
        case .options:
            fields[.tusVersion] = "1.0.0"
            fields[.tusExtension] = "creation,creation-defer-length"
        case .post:
            status = 201
            fields[.location] = "/uploads/1"
        default: fields[.uploadOffset] = "\(request.body?.length ?? 0)"
        }
        let head = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
        sink.transfer(
            .ended(
                TransferEnd(
                    result: .success(TransferResponse(head: head)), evidence: TransferCounters(isBodyComplete: true))))
    }

    @Test func `an attempt that waits for its stream is cancelled, although its last request ended early`() async throws
    {
        // A later cancellation finds more of the request's start done.
        for yields in 0..<100 { try await cancelled(after: yields) }
    }

    private func cancelled(after yields: Int) async throws {
        let (chunks, continuation) = AsyncStream<[UInt8]>.makeStream()
        continuation.yield([UInt8](repeating: 1, count: 100_001))
        var options = ResumeOptions(.tus)
        options.firstAppend = .bytes(100_000)
        options.appendMultiple = .bytes(1_000)
        let url = "http://127.0.0.1:1/files"
        let body = SequenceBody(chunks, length: nil, replay: .fromCopy)
        let upload = ResumableUpload(
            body, length: nil, options: options, url: url, support: ResumeSupportCache(), metadata: nil, harmless: [],
            followsRedirects: true)
        upload.setTemplate(TransferRequest(method: .post, url: url, body: body))
        let recorder = Recorder()
        let appends = Watched(0)
        let attempt = ResumableAttempt(upload, clock: ContinuousClock(), sink: recorder) { request, _, sink in
            Self.respond(to: request, sink)
            if request.method == .patch { appends.update { $0 += 1 } }
            return EndedControl()
        }
        attempt.start()
        try await appends.waitUntil { $0 == 1 }
        for _ in 0..<yields { await Task.yield() }
        attempt.cancel()
        let ends = try await recorder.ends.waitUntil { $0.count == 1 }
        guard case .failure(let error) = ends[0].result else { throw UploadError(.cancelled, "", phase: .sending) }
        #expect(error.code == .cancelled)
        continuation.finish()
    }
}
