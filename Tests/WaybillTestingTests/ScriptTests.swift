import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

/// The steps of scripts, and the selection of a script.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ScriptTests {
    @Test func `a peer receives bytes at a rate measured by a manual clock`() async throws {
        let clock = ManualClock()
        let sink = RecordingSink()
        let transport = ScriptedTransport([
            .connect, .receiveAtRate(nil, perSecond: .bytes(1_000), clock: clock),
            .delay(.seconds(3_600), clock: clock), .respond(.ok),
        ])
        _ = transport.start(.put(2_050), sink: sink)
        for (moved, received) in [(100, 100), (900, 1_000), (1_000, 2_000)] {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .milliseconds(moved))
            try await sink.events.waitUntil { $0.last == "progress \(received)" }
        }
        await clock.sleepers(atLeast: 1)
        #expect(clock.pendingSleeps == [.milliseconds(50)])
        clock.advance(by: .milliseconds(50))
        try await sink.events.waitUntil { $0.last == "bodyAcknowledged" }
        await clock.sleepers(atLeast: 1)
        #expect(clock.pendingSleeps == [.seconds(3_600)])
        clock.advance(by: .seconds(3_600))
        try await sink.events.waitUntil { $0.last == "ended 200" }
    }

    @Test func `cancelling ends a wait on a clock`() async throws {
        let clock = ManualClock()
        for step: TransferScript.Step in [
            .receiveAtRate(5, perSecond: .bytes(1), clock: clock), .delay(.seconds(1), clock: clock),
        ] {
            let sink = RecordingSink()
            let control = ScriptedTransport([.connect, step]).start(.put(10), sink: sink)
            await clock.sleepers(atLeast: 1)
            control.cancel()
            try await sink.events.waitUntil { $0.last == "ended cancelled" }
            #expect(sink.outcome.value == .notSent)
        }
    }

    @Test func `acknowledgements occur at the scripted time and accuracy`() async throws {
        let sink = RecordingSink()
        let transport = ScriptedTransport([
            .accuracy(.acknowledgedByProxy), .sendUnacknowledged(8), .acknowledge(3), .acknowledge(100), .receiveRest,
            .respond(.ok),
        ])
        _ = transport.start(.put(10), sink: sink)
        try await sink.events.waitUntil { $0.last == "ended 200" }
        #expect(
            sink.events.value == [
                "connected", "progress 0", "progress 3", "progress 8", "progress 10", "bodyAcknowledged", "head 200",
                "ended 200",
            ])
        #expect(sink.accuracies.value == [.acknowledgedByProxy])
    }

    private static let failures: [(TransferScript, UploadOutcome)] = [
        (TransferScript.breaking(after: 0), UploadOutcome.incomplete(acknowledged: 0)),
        (.breaking(after: 10), .unknown), (.deadConnection(), .notSent), (.deadConnection(afterSending: 4), .notSent),
        (.deadConnection(afterSending: 10), .notSent), (.losingResponse, .unknown), (.truncatingResponse(), .unknown),
        ([.connect, .sendUnacknowledged(10), .fail(.connectionLost)], .unknown),
        (.respondingEarly(.ok, after: 4), .unknown),
        ([.sendUnacknowledged(10), .respond(.ok)], .unknown),
    ]

    @Test(arguments: failures)
    func `a failure has the outcome of a real transport`(script: TransferScript, outcome: UploadOutcome) async throws {
        let sink = RecordingSink()
        _ = ScriptedTransport(script).start(.put(10), sink: sink)
        try await sink.events.waitUntil { $0.last?.hasPrefix("ended") == true }
        #expect(sink.outcome.value == outcome)
    }

    private static let answers: [(TransferScript, Int, HTTPField.Name, String?)] = [
        (TransferScript.redirecting(to: "/new"), 307, HTTPField.Name.location, "/new"),
        (.redirecting(to: "/new", .permanentRedirect), 308, .location, "/new"),
        (.unauthorized(), 401, .wwwAuthenticate, #"Bearer realm="test""#), (.tooLarge(), 413, .retryAfter, nil),
        (.tooManyRequests(retryAfter: "7"), 429, .retryAfter, "7"), (.unavailable(), 503, .retryAfter, nil),
        (.respondingEarly(.contentTooLarge, after: 4), 413, .retryAfter, nil),
    ]

    @Test(arguments: answers)
    func `common responses have named scripts`(
        script: TransferScript, status: Int, field: HTTPField.Name, value: String?
    ) async throws {
        let sink = RecordingSink()
        let transport = ScriptedTransport(script)
        _ = transport.start(.put(10), sink: sink)
        try await sink.events.waitUntil { $0.last == "ended \(status)" }
        #expect(try transport.transfers[0].end?.result.get().head.headerFields[field] == value)
    }

    @Test func `scripts are selected by path, method or predicate, and the last one repeats`() async throws {
        let transport = ScriptedTransport(.responding(.notFound))
        transport.script(.redirecting(to: "/b"), path: "/a")
        transport.script(.unavailable(), .responding(.created), method: .post, path: "/b")
        transport.script(.failing(.hostNotFound)) { $0.url.hasPrefix("https:") }
        let requests = [
            ("http://h.example/a?x=1", HTTPRequest.Method.post, "ended 307"),
            ("http://h.example/b", .post, "ended 503"),
            ("http://h.example/b#f", .post, "ended 201"), ("http://h.example/b", .post, "ended 201"),
            ("http://h.example/b", .put, "ended 404"), ("http://h.example", .post, "ended 404"),
            ("https://h.example/a", .post, "ended 307"), ("https://h.example/c", .post, "ended hostNotFound"),
        ]
        for (url, method, expected) in requests {
            let sink = RecordingSink()
            _ = transport.start(TransferRequest(method: method, url: url, body: DataBody([1])), sink: sink)
            let events = try await sink.events.waitUntil { $0.last?.hasPrefix("ended") == true }
            #expect(events.last == expected, "\(method) \(url)")
        }
    }

    @Test func `a body with a wrong length is never completed`() async throws {
        for count in [9, 11] {
            let sink = RecordingSink()
            let body = WrongLengthBody(length: 10, count: count)
            let transport = ScriptedTransport(.responding())
            _ = transport.start(TransferRequest(method: .put, url: "http://h.example/", body: body), sink: sink)
            try await sink.events.waitUntil { $0.last == "ended bodyFailed" }
            #expect(transport.transfers[0].bytesReceived < 10)
            #expect(transport.transfers[0].end?.evidence.isBodyComplete == false)
        }
    }

    @Test func `an attempt that ignores cancellation still waits for its body`() async throws {
        let sink = RecordingSink()
        let (chunks, input) = AsyncStream.makeStream(of: [UInt8].self)
        let transport = ScriptedTransport([.connect, .ignoreCancel, .receiveRest, .respond(.ok)])
        let body = SequenceBody(chunks, length: nil)
        let control = transport.start(TransferRequest(method: .put, url: "http://h.example/", body: body), sink: sink)
        input.yield([1, 2, 3])
        try await sink.events.waitUntil { $0.last == "progress 3" }
        control.cancel()
        input.yield([4])
        input.finish()
        try await sink.events.waitUntil { $0.last == "ended 200" }
        #expect(transport.transfers.first?.body == [1, 2, 3, 4])
    }

    @Test func `waiting for an event that never occurs ends with its task`() async {
        let clock = ManualClock()
        let gate = ScriptGate()
        let waits = [Task { await clock.sleepers(atLeast: 1) }, Task { await gate.arrivals(atLeast: 1) }]
        for wait in waits {
            wait.cancel()
            await wait.value
        }
    }
}

/// Announces a length other than its real one.
private struct WrongLengthBody: UploadBody {
    let length: Int64?
    let isReplayable = true
    private let bytes: DataBody

    init(length: Int64, count: Int) {
        self.length = length
        bytes = DataBody([UInt8](repeating: 1, count: count))
    }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader { try bytes.makeReader(wake: wake) }
}

extension TransferRequest {
    static func put(_ count: Int) -> TransferRequest {
        TransferRequest(method: .put, url: "http://host.example/", body: DataBody([UInt8](repeating: 1, count: count)))
    }
}
