import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

/// The transfer of parallel parts, with a transport that the test controls.
@Suite struct ParallelTransferTests {
    /// A request to which the test responds.
    private final class Exchange: TransferControl {
        let request: TransferRequest
        let sink: any TransferSink
        let limits = Locked<[ByteCount?]>([])
        let pauses = Locked<[Bool]>([])

        init(_ request: TransferRequest, _ sink: any TransferSink) {
            (self.request, self.sink) = (request, sink)
        }

        func cancel() {
            sink.transfer(
                .ended(
                    TransferEnd(
                        result: .failure(TransferError(.cancelled, "cancelled", outcome: .unknown)),
                        evidence: TransferCounters())))
        }
        func pause() { pauses.withLock { $0.append(true) } }
        func resume() { pauses.withLock { $0.append(false) } }
        func limit(to rate: ByteCount?) { limits.withLock { $0.append(rate) } }

        func respond(_ status: Int, _ fields: HTTPFields = [:]) {
            var fields = fields
            fields[.tusResumable] = "1.0.0"
            let head = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
            let evidence = TransferCounters(isBodyComplete: true, sawResponseHead: true)
            sink.transfer(.ended(TransferEnd(result: .success(TransferResponse(head: head)), evidence: evidence)))
        }

        func progress(_ count: Int64) {
            sink.transfer(.progress(TransferProgress(sent: count, acknowledged: count, accuracy: .exact)))
        }
    }

    /// Records the events of the upload.
    private final class Recorder: TransferSink {
        let acknowledged = Locked<[Int64]>([])
        let stored = Locked<[Int64]>([])
        let ends = Locked<[TransferEnd]>([])
        var wantsProgress: Bool { true }

        func transfer(_ event: TransferEvent) {
            switch event {
            case .progress(let progress): acknowledged.withLock { $0.append(progress.acknowledged) }
            case .stored(let progress): stored.withLock { $0.append(progress.bytes) }
            case .ended(let end): ends.withLock { $0.append(end) }
            default: break
            }
        }
    }

    private let exchanges = Watched<[Exchange]>([])
    private let recorder = Recorder()

    /// Starts an upload of 300 bytes in three parts, whose creations are the first three requests.
    private func start(limit: ByteCount? = nil) -> ResumableAttempt {
        var options = ResumeOptions(.tus)
        options.parallelParts = 3
        options.minimumLength = .bytes(1)
        let cache = ResumeSupportCache()
        let url = "https://a.example/files"
        cache[url] = ResumeSupport(isKnown: true, tusVersions: ["1.0.0"], tusExtensions: ["concatenation"])
        let body = DataBody([UInt8](repeating: 1, count: 300))
        let upload = ResumableUpload(
            body, length: 300, options: options, url: url, support: cache, metadata: nil, harmless: [],
            followsRedirects: false)
        var request = TransferRequest(method: .post, url: url, body: body)
        request.options.rateLimit = limit
        upload.setTemplate(request)
        let attempt = ResumableAttempt(upload, clock: ContinuousClock(), sink: recorder) {
            [exchanges] request, _, sink in
            let exchange = Exchange(request, sink)
            exchanges.update { $0.append(exchange) }
            return exchange
        }
        attempt.start()
        return attempt
    }

    private func exchange(_ number: Int) -> Exchange { exchanges.value[number] }

    /// Responds to the creations, whose appends are the next three requests.
    private func create() {
        for number in 0..<3 { exchange(number).respond(201, [.location: "/uploads/\(number)"]) }
    }

    @Test func `the rate limit is divided among the parts that have not ended`() {
        let attempt = start(limit: .bytes(900))
        create()
        #expect(exchanges.value.map(\.request.options.rateLimit) == Array(repeating: .bytes(300), count: 6))
        exchange(3).respond(204, [.uploadOffset: "100"])
        #expect(exchange(4).limits.withLock { $0 } == [.bytes(450)])
        #expect(exchange(5).limits.withLock { $0 } == [.bytes(450)])
        attempt.limit(to: .bytes(600))
        #expect(exchange(4).limits.withLock { $0 }.last == .bytes(300))
        attempt.limit(to: nil)
        #expect(exchange(5).limits.withLock { $0 }.last == .some(nil))
    }

    @Test func `an unlimited upload limits no part`() {
        let attempt = start()
        create()
        exchange(3).respond(204, [.uploadOffset: "100"])
        #expect(exchanges.value.allSatisfy { $0.request.options.rateLimit == nil })
        #expect(exchange(4).limits.withLock { $0 }.isEmpty)
        attempt.cancel()
    }

    @Test func `progress and stored bytes are sums`() {
        let attempt = start()
        create()
        exchange(3).progress(40)
        exchange(4).progress(50)
        exchange(3).respond(204, [.uploadOffset: "100"])
        exchange(5).progress(1)
        #expect(recorder.acknowledged.withLock { $0 } == [40, 90, 151])
        #expect(recorder.stored.withLock { $0 }.last == 100)
        attempt.cancel()
    }

    @Test func `a pause applies to all parts`() {
        let attempt = start()
        create()
        attempt.pause()
        attempt.resume()
        for number in 3..<6 { #expect(exchange(number).pauses.withLock { $0 } == [true, false]) }
        attempt.cancel()
    }

    @Test func `a cancellation ends once, with what is stored`() {
        let attempt = start()
        create()
        exchange(3).respond(204, [.uploadOffset: "100"])
        attempt.cancel()
        let ends = recorder.ends.withLock { $0 }
        #expect(ends.count == 1)
        #expect(ends.first?.resumption?.outcome == .incomplete(acknowledged: 100))
    }

    @Test func `after a lost part the others finish their append, and nothing else is sent`() throws {
        _ = start()
        exchange(0).respond(201, [.location: "/uploads/0"])
        exchange(1).respond(201, [.location: "/uploads/1"])
        // The append of the first part fails, while the creation of the third one has no response.
        exchange(3).respond(503)
        #expect(recorder.ends.withLock { $0 }.isEmpty)
        exchange(4).respond(204, [.uploadOffset: "100"])
        exchange(2).respond(201, [.location: "/uploads/2"])
        #expect(exchanges.value.count == 5)
        let ends = recorder.ends.withLock { $0 }
        #expect(ends.count == 1)
        #expect(try ends.first?.result.get().head.status.code == 503)
    }

    @Test func `a rejected part cancels the others`() {
        _ = start()
        create()
        exchange(4).respond(403)
        let ends = recorder.ends.withLock { $0 }
        #expect(ends.count == 1)
        #expect(ends.first?.resumption?.outcome == .rejected)
    }

    @Test func `the concatenation has the URLs of the parts in their order`() {
        _ = start()
        create()
        for number in [5, 3, 4] { exchange(number).respond(204, [.uploadOffset: "100"]) }
        let last = exchange(6).request
        #expect(
            last.headers[.uploadConcat]
                == "final;https://a.example/uploads/0 https://a.example/uploads/1 https://a.example/uploads/2")
        exchange(6).respond(201, [.location: "/uploads/3"])
        let ends = recorder.ends.withLock { $0 }
        #expect(ends.map { $0.resumption?.uploadURL } == ["https://a.example/uploads/3"])
        #expect(ends.first?.evidence.acknowledged == 300)
    }
}
