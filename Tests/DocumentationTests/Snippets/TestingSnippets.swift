// The samples of the guide to testing, compiled and run: they are tests.
import WaybillCore
import Testing
import Waybill
import WaybillTesting

private let form: MultipartForm = [
    .text("BUSINESSNO", "20260117-0042"),
    .data("FILE", [UInt8](repeating: 7, count: 20_000), fileName: "IDFrontImage.jpg", contentType: "image/jpeg"),
]

@Suite(.timeLimit(.minutes(1))) private struct TestingSnippets {
    // snippet: test a retry
    @Test func `a busy server is asked again`() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport([.unavailable(retryAfter: "30"), .responding(.ok, body: #"{"id": 7}"#)])
        var configuration = UploadSession.Configuration()
        configuration.clock = clock
        let session = UploadSession(configuration: configuration, transport: transport)

        async let response = session.upload(form, to: "http://backend.example/upload")
        await clock.sleepers(atLeast: 1)  // the second attempt is scheduled
        clock.advance(by: .seconds(60))  // and due
        #expect(try await response.attempts.count == 2)
    }
    // end

    // snippet: test a form
    @Test func `the front of the card is sent under its name`() async throws {
        let transport = ScriptedTransport(.responding())
        let session = UploadSession(configuration: .init(), transport: transport)
        _ = try await session.upload(form, to: "http://backend.example/upload")

        let sent = try transport.transfers[0].form()
        #expect(try sent.text("BUSINESSNO") == "20260117-0042")
        let file = try sent.part("FILE")
        #expect(file.fileName == "IDFrontImage.jpg")
        #expect(file.contentType == "image/jpeg")
        #expect(file.bytes.count <= 102_400)
    }
    // end

    // snippet: test an outcome
    @Test func `a lost answer is not sent again`() async throws {
        let transport = ScriptedTransport(.losingResponse)
        let session = UploadSession(configuration: .init(), transport: transport)
        let error = await #expect(throws: UploadError.self) {
            try await session.upload(form, to: "http://backend.example/upload")
        }
        #expect(error?.outcome == .unknown)
        #expect(transport.transfers.count == 1)
    }
    // end

    @Test func `a rule answers the requests it is for`() async throws {
        // snippet: test routes
        let transport = ScriptedTransport(.responding(.notFound))
        transport.script(.responding(.created), method: .post, path: "/forms")
        transport.script(.failing(.hostNotFound)) { request in request.url.contains("//archive.example/") }
        // end
        let session = UploadSession(configuration: .init(), transport: transport)
        let response = try await session.upload(form, to: "http://backend.example/forms")
        #expect(response.status == .created)
    }

    @Test func `the bar moves with a slow peer`() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport([
            .connect, .receiveAtRate(nil, perSecond: .bytes(10_000), clock: clock), .respond(.ok),
        ])
        let session = UploadSession(configuration: .init(), transport: transport)
        let task = session.start(form, to: "http://backend.example/upload")
        let progress = task.progress
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        for await step in progress where step.acknowledged == 10_000 { break }
        clock.advance(by: .seconds(60))
        _ = try await task.response
    }

    // snippet: test a cancel
    @Test func `cancelling halfway leaves the upload incomplete`() async throws {
        let gate = ScriptGate()
        let transport = ScriptedTransport([.connect, .receive(1_000), .wait(gate), .receiveRest, .respond(.ok)])
        let session = UploadSession(configuration: .init(), transport: transport)
        let task = session.start(form, to: "http://backend.example/upload")
        await gate.arrivals(atLeast: 1)  // 1,000 bytes are acknowledged, and the attempt waits
        task.cancel()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.outcome == .incomplete(acknowledged: 1_000))
    }
    // end
}

private func conformance() async throws {
    // snippet: check a transport
    for check in TransportConformance.checks {
        try await check.run(against: { MyTransport() }, server: LocalServer())
    }
    // end
}

/// A transport implemented by a reader.
private struct MyTransport: UploadTransport {
    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        ScriptedTransport(.responding()).start(request, sink: sink)
    }
}

private struct LocalServer: ConformanceServer {
    func url(for behaviour: ConformanceBehaviour) -> String { "http://127.0.0.1/" }
    func body(at url: String) -> [UInt8] { [] }
}
