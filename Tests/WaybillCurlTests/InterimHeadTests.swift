import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

/// Heads with the status 104, which report the state of a resumable upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct InterimHeadTests {
    private let transport = CurlTransport()

    /// A way to send a request: over the own exchange, or by libcurl.
    enum Way: CaseIterable {
        case own, libcurl

        var options: TransferOptions {
            var options = TransferOptions()
            if self == .libcurl { options.curlOptions = [CurlOption("TCP_NODELAY", .number(1))] }
            return options
        }
    }

    private func run(_ url: String, _ size: Int, _ options: TransferOptions) -> Recorder {
        let recorder = Recorder()
        _ = transport.start(
            TransferRequest(method: .post, url: url, body: PatternBody(size), options: options), sink: recorder)
        return recorder
    }

    private func interim(_ fields: (String, String)...) -> ScriptedResponse { ScriptedResponse(104, headers: fields) }

    private func heads(_ events: [TransferEvent]) -> [HTTPResponse] {
        events.compactMap { if case .interimHead(let head) = $0 { head } else { nil } }
    }

    @Test(arguments: Way.allCases) func `a head before and one after the body are reported`(_ way: Way) async throws {
        let server = try LoopbackServer(
            Behaviour([
                .send(interim(("Location", "/u/1"))), .read(), .send(interim(("Upload-Offset", "10"))),
                .send(ScriptedResponse(200)),
            ]))
        let recorder = run(server.url(), 10, way.options)
        #expect(try await recorder.response().head.status == .ok)
        let heads = heads(recorder.events)
        #expect(heads.count == 2)
        #expect(heads.first?.headerFields[.location] == "/u/1")
        #expect(heads.last?.headerFields[HTTPField.Name("Upload-Offset")!] == "10")
    }

    @Test(arguments: Way.allCases) func `other interim heads are not reported`(_ way: Way) async throws {
        let server = try LoopbackServer(.respond(ScriptedResponse(200), afterInterim: [102, 103]))
        let recorder = run(server.url(), 10, way.options)
        _ = try await recorder.response()
        #expect(heads(recorder.events).isEmpty)
    }

    @Test func `the body starts after a head although it expects 100-continue`() async throws {
        let server = try LoopbackServer(
            Behaviour([.send(interim(("Location", "/u/1"))), .read(), .send(ScriptedResponse(200))]).ignoringExpect())
        var options = TransferOptions()
        options.expectContinue = .above(.bytes(0), wait: .seconds(50))
        #expect(try await run(server.url(), 100_000, options).response().head.status == .ok)
    }

    @Test(arguments: Way.allCases) func `a flood of heads does not end the upload`(_ way: Way) async throws {
        // Recent releases of libcurl end a transfer after 5,000 header fields.
        let flood = ScriptedResponse.raw(
            String(repeating: "HTTP/1.1 104 x\r\nUpload-Offset: 7\r\n\r\n", count: 2_000))
        let server = try LoopbackServer(Behaviour([.read(), .send(flood), .send(ScriptedResponse(200))]))
        #expect(try await run(server.url(), 10, way.options).response().head.status == .ok)
    }

    @Test func `of many heads the last, and the last two with a location, are kept`() {
        var assembler = ResponseAssembler(limits: TransferLimits())
        assembler.requestWillBegin()
        func add(_ field: String) throws {
            for line in ["HTTP/1.1 104 x", field, ""] { _ = try assembler.appendLine(Array("\(line)\r\n".utf8).span) }
        }
        #expect(throws: Never.self) {
            for number in 0..<100 { try add("Upload-Offset: \(number)") }
            for number in 0..<100 { try add("Location: /\(number)") }
            for number in 0..<100 { try add("Upload-Offset: \(number)") }
        }
        let heads = assembler.takeInterimHeads()
        #expect(heads.map { $0.headerFields[.location] } == ["/99", nil])
        #expect(assembler.interimHeads.isEmpty)
    }
}
