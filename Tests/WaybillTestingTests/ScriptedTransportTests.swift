import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ScriptedTransportTests {
    @Test func `it reports the events of a real transport in order`() async throws {
        let sink = RecordingSink()
        let transport = ScriptedTransport(.responding(.created, body: "done"))
        _ = transport.start(.put(40_000), sink: sink)
        let events = try await sink.events.waitUntil { $0.last?.hasPrefix("ended") == true }
        #expect(
            events == [
                "connected", "progress 16384", "progress 32768", "progress 40000", "bodyAcknowledged", "head 201",
                "ended 201",
            ])
        #expect(transport.transfers.first?.body.count == 40_000)
        #expect(transport.running == 0)
    }

    @Test func `failures have the outcome that follows from their bytes`() async throws {
        let scripts: [(TransferScript, UploadOutcome)] = [
            (.failing(.hostNotFound), .notSent), (.breaking(after: 7), .incomplete(acknowledged: 7)),
            ([.connect, .sendUnacknowledged(7), .fail(.connectionLost)], .notSent),
            ([.connect, .receiveRest, .fail(.connectionLost)], .unknown),
            ([.connect, .receive(7), .fail(.stalled, outcome: .unknown)], .unknown),
        ]
        for (script, outcome) in scripts {
            let sink = RecordingSink()
            _ = ScriptedTransport(script).start(.put(10), sink: sink)
            try await sink.events.waitUntil { $0.last?.hasPrefix("ended") == true }
            #expect(sink.outcome.value == outcome)
        }
    }

    @Test func `cancelling ends a hanging attempt, and repeated cancellation has no effect`() async throws {
        let sink = RecordingSink()
        let gate = ScriptGate()
        let control = ScriptedTransport([.connect, .receive(5), .wait(gate), .hang]).start(.put(10), sink: sink)
        await gate.arrivals(atLeast: 1)
        control.cancel()
        control.cancel()
        try await sink.events.waitUntil { $0.last == "ended cancelled" }
        control.cancel()
        #expect(sink.outcome.value == .incomplete(acknowledged: 5))
        #expect(sink.events.value.filter { $0.hasPrefix("ended") }.count == 1)
    }

    @Test func `a transfer waits for a body that arrives late`() async throws {
        let sink = RecordingSink()
        let (chunks, input) = AsyncStream.makeStream(of: [UInt8].self)
        let body = SequenceBody(chunks, length: nil)
        let transport = ScriptedTransport(.responding())
        _ = transport.start(TransferRequest(method: .put, url: "http://host.example/", body: body), sink: sink)
        try await sink.events.waitUntil { $0 == ["connected"] }
        input.yield([1, 2, 3])
        try await sink.events.waitUntil { $0.last == "progress 3" }
        input.finish()
        try await sink.events.waitUntil { $0.last == "ended 200" }
        #expect(transport.transfers.first?.body == [1, 2, 3])
    }
}
