import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox

/// Items of the outbox that ask for a ticket, put a file and confirm it.
@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct TicketedDeliveryTests {
    private let world: OutboxWorld
    private let bytes = SeededGenerator.pattern(20_000)

    init() throws {
        world = try OutboxWorld()
    }

    private static var format: TicketFormat {
        var format = TicketFormat(url: "/data/uploadUrl")
        format.method = "/data/method"
        format.headers = "/data/headers"
        format.validFor = "/data/expiresIn"
        return format
    }

    private func upload(
        _ server: TicketServer, format: TicketFormat = format,
        idempotency: Idempotency = .honoured(window: .seconds(600)),
        credential: DurableCredential? = nil
    ) async throws -> DurableTicketedUpload {
        let path = try world.directory.write("photo.jpg", bytes)
        return try await DurableTicketedUpload(
            file: path,
            ask: DurableRequest(
                .post, server.server.url("/tickets"), body: #"{"type":"jpg"}"#, credential: credential),
            format: format,
            confirm: DurableRequest(
                .post, server.server.url("/confirm/{ticket:/data/id}"), body: #"{"etag":"{header:etag}"}"#,
                credential: credential, idempotency: idempotency))
    }

    private func formServer(faults: [TicketServer.Step: [TicketServer.Fault]]) throws -> TicketServer {
        var settings = TicketServer.Settings()
        settings.isForm = true
        return try TicketServer(settings, faults: faults)
    }

    private static func formFormat(isRepeatable: Bool) -> TicketFormat {
        var format = format
        format.fields = "/data/fields"
        format.isRepeatable = isRepeatable
        return format
    }

    private static var patient: Outbox.Configuration {
        var configuration = OutboxWorld.quick
        configuration.retryBudget = nil
        return configuration
    }

    private func expectDelivered(_ server: TicketServer, _ comment: Comment? = nil) {
        let state = server.state
        #expect(state.objects.keys.sorted() == ["object-1"] && state.objects["object-1"]?.bytes == bytes, comment)
        #expect(state.effects == ["object-1": 1], comment)
        #expect(state.keys.count == 1 && state.violations.isEmpty, "\(state.violations)")
    }

    @Test(arguments: TicketFaults.rows) func `each fault ends with one object and one confirmation`(
        _ row: TicketFaults
    ) async throws {
        let server = try TicketServer(faults: row.faults)
        let outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == .done, "\(row): \(item)")
        expectDelivered(server, "\(row)")
        #expect(server.state.faults.values.allSatisfy { $0.isEmpty })
        await outbox.close()
    }

    /// The requests at which the process is killed: their connections hang, and the outbox is opened again.
    private static let kills: [(name: String, faults: [TicketServer.Step: [TicketServer.Fault]], puts: Int)] = [
        ("ask", [.ask: [.hold]], 1),
        ("put", [.put: [.hold]], 2),
        ("put with a ticket that expires meanwhile", [.put: [.hold, .expire]], 3),
        ("confirm", [.confirm: [.hold]], 1),
        ("ask, put and confirm", [.ask: [.hold], .put: [.hold], .confirm: [.hold]], 2),
    ]

    @Test(arguments: kills) func `a process that ends during a step is continued by the next one`(
        _ name: String, _ faults: [TicketServer.Step: [TicketServer.Fault]], _ puts: Int
    ) async throws {
        let server = try TicketServer(faults: faults)
        var outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server))
        for step in [TicketServer.Step.ask, .put, .confirm] {
            guard case .hold? = faults[step]?.first else { continue }
            let worker = Task { [outbox] in try await world.deliver(outbox) }
            let left = (faults[step]?.count ?? 0) - 1
            try await server.waitUntil { $0.faults[step]?.count == left && $0.requests[step] != nil }
            worker.cancel()
            _ = try? await worker.value
            await outbox.close()
            outbox = try await world.open(Self.patient)
        }
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        expectDelivered(server, "\(name)")
        #expect(server.state.requests[.put] == puts, "\(name)")
        await outbox.close()
    }

    @Test func `a file that was put is not sent again while the confirmation fails`() async throws {
        let faults = [TicketServer.Fault](repeating: .respond(503, ""), count: 3) + [.loseResponse, .cut(0)]
        let server = try TicketServer(faults: [.confirm: faults])
        var configuration = Self.patient
        configuration.retry.maxAttempts = 10
        let outbox = try await world.open(configuration)
        let id = try await outbox.enqueue(try await upload(server))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        expectDelivered(server)
        #expect(server.state.requests == [.ask: 1, .put: 1, .confirm: 6])
        await outbox.close()
    }

    @Test func `a confirmation without honoured keys is not repeated after a lost response`() async throws {
        let server = try TicketServer(faults: [.confirm: [.loseResponse]])
        let outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server, idempotency: .ignored))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == .failed && item.isDoubtful)
        #expect(server.state.requests == [.ask: 1, .put: 1, .confirm: 1])
        await outbox.close()
    }

    @Test func `a confirmation that was rejected is sent again, whatever the outcome of the put was`() async throws {
        let server = try TicketServer(faults: [.put: [.loseResponse], .confirm: [.respond(503, "")]])
        let outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server, idempotency: .ignored))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        expectDelivered(server)
        #expect(server.state.requests == [.ask: 2, .put: 2, .confirm: 2])
        await outbox.close()
    }

    @Test func `a worker that ends during the request for a ticket leaves no doubt`() async throws {
        let server = try TicketServer(faults: [.ask: [.hold], .confirm: [.respond(503, "")]])
        let outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server, idempotency: .ignored)).id
        let worker = Task { [outbox] in try await world.deliver(outbox) }
        try await server.waitUntil { $0.requests[.ask] == 1 }
        // As if the worker had been killed.
        let core = try #require(outbox.owner)
        _ = try await core.store.apply([ItemChange(id.rawValue, .lost)])
        worker.cancel()
        _ = try? await worker.value
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id))
        #expect(item.state == .done && server.state.requests == [.ask: 2, .put: 1, .confirm: 2], "\(item)")
        await outbox.close()
    }

    @Test func `a backend that forgets the object key causes no second object`() async throws {
        var settings = TicketServer.Settings()
        settings.changesKeys = true
        let server = try TicketServer(settings, faults: [.put: [.loseResponse]])
        let outbox = try await world.open(Self.patient)
        let id = try await outbox.enqueue(try await upload(server)).id
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id))
        #expect(item.state == .failed && item.isDoubtful && item.reason == "outcomeUnknown")
        #expect(server.state.objects.count == 1 && server.state.requests == [.ask: 2, .put: 1])
        // The caller accepts a second object.
        try await outbox.retry(.item(id))
        try await world.deliver(outbox)
        #expect(try await outbox.item(id)?.state == .done)
        #expect(server.state.objects.count == 2)
        await outbox.close()
    }

    /// Delivers a form that must not be repeated to a queue that can't store its states from one on. Returns the error
    /// and the states.
    private func deliver(
        to server: TicketServer, failingFrom first: Int, resume: [UInt8]? = nil
    ) async throws -> (error: UploadError?, states: [[UInt8]]) {
        let upload = try DurableTicketedUpload(
            data: bytes, ask: DurableRequest(.post, server.server.url("/tickets")),
            format: Self.formFormat(isRepeatable: false),
            confirm: DurableRequest(.post, server.server.url("/confirm/{ticket:/data/id}")))
        let states = Watched<[[UInt8]]>([])
        var delivery = Delivery(session: world.session, idempotencyKey: "k", resume: resume)
        delivery.storeResume = { state, _ in
            states.update { $0.append(state) }
            return states.value.count < first
        }
        do throws(UploadError) {
            _ = try await upload.deliver(delivery)
            return (nil, states.value)
        } catch {
            return (error, states.value)
        }
    }

    @Test func `a queue that can't store the state sends nothing that must not be repeated`() async throws {
        let server = try formServer(faults: [:])
        let (error, _) = try await deliver(to: server, failingFrom: 1)
        #expect(error?.code == .recordUnusable && error?.outcome == .notSent)
        let unconfirmed = try await deliver(to: server, failingFrom: 2)
        #expect(unconfirmed.error?.code == .recordUnusable && unconfirmed.error?.outcome == .unknown)
        #expect(server.state.requests == [.ask: 2, .put: 1])
    }

    @Test func `a state that can't be set back is in doubt, and the form is not posted again`() async throws {
        let server = try formServer(faults: [.put: [.respond(503, "")]])
        let (error, states) = try await deliver(to: server, failingFrom: 2)
        #expect(error?.outcome == .unknown && states.last == [])
        let next = try await deliver(to: server, failingFrom: 9, resume: states[0])
        #expect(next.error?.outcome == .unknown && next.states.isEmpty)
        #expect(server.state.requests == [.ask: 1, .put: 1])
    }

    @Test(arguments: [true, false]) func `a form whose response is lost is repeated only if it may be`(
        _ isRepeatable: Bool
    ) async throws {
        let server = try formServer(faults: [.put: [.expire, .loseResponse]])
        let outbox = try await world.open(Self.patient)
        let bytes = Array("the bytes of a photo".utf8)
        let upload = try DurableTicketedUpload(
            data: bytes, ask: DurableRequest(.post, server.server.url("/tickets")),
            format: Self.formFormat(isRepeatable: isRepeatable))
        let id = try await outbox.enqueue(upload)
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == (isRepeatable ? .done : .failed) && item.isDoubtful == !isRepeatable)
        #expect(server.state.requests[.put] == (isRepeatable ? 3 : 2))
        #expect(server.state.objects["object-1"]?.bytes == bytes)
        await outbox.close()
    }

    @Test func `a form that was rejected is not in doubt`() async throws {
        let server = try formServer(faults: [.put: [.respond(503, "")], .ask: [.loseResponse, .loseResponse, .hold]])
        var outbox = try await world.open(Self.patient)
        let upload = try DurableTicketedUpload(
            data: Array("photo".utf8), ask: DurableRequest(.post, server.server.url("/tickets")),
            format: Self.formFormat(isRepeatable: false))
        let id = try await outbox.enqueue(upload)
        let worker = Task { [outbox] in try await world.deliver(outbox) }
        try await server.waitUntil { $0.requests[.ask] == 3 }
        worker.cancel()
        _ = try? await worker.value
        await outbox.close()
        outbox = try await world.open(Self.patient)
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .done)
        await outbox.close()
    }

    @Test func `tickets that always expire fail the item after its last attempt`() async throws {
        let server = try TicketServer(faults: [.put: [TicketServer.Fault](repeating: .expire, count: 100)])
        var configuration = Self.patient
        configuration.retry.maxAttempts = 2
        let outbox = try await world.open(configuration)
        let id = try await outbox.enqueue(try await upload(server))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == .failed && item.reason == "ticketExpired")
        #expect(server.state.requests == [.ask: 6, .put: 6])
        await outbox.close()
    }

    @Test(arguments: ["/data/link", "/data/headers"]) func `a wrong pointer fails the item before the file is sent`(
        _ pointer: String
    ) async throws {
        let server = try TicketServer()
        let outbox = try await world.open(Self.patient)
        var format = Self.format
        format.url = pointer
        let id = try await outbox.enqueue(try await upload(server, format: format))
        try await world.deliver(outbox)
        let item = try #require(try await outbox.results().first)
        #expect(item.item.id == id.id && item.item.state == .failed && item.item.reason == "decodingFailed")
        #expect(server.state.requests == [.ask: 1])
        await outbox.close()
    }

    @Test func `a placeholder without a value fails the item before the file is sent`() async throws {
        let server = try TicketServer()
        let outbox = try await world.open(Self.patient)
        let upload = try DurableTicketedUpload(
            data: bytes, ask: DurableRequest(.post, server.server.url("/tickets")), format: Self.format,
            confirm: DurableRequest(.post, server.server.url("/confirm/{ticket:/data/name}")))
        let id = try await outbox.enqueue(upload)
        try await world.deliver(outbox)
        #expect(try await outbox.item(id.id)?.state == .failed)
        #expect(server.state.requests == [.ask: 1])
        await outbox.close()
    }

    @Test func `a missing header field of the store is reported, and the file is not sent again`() async throws {
        let server = try TicketServer()
        let outbox = try await world.open(Self.patient)
        let upload = try DurableTicketedUpload(
            data: bytes, ask: DurableRequest(.post, server.server.url("/tickets")), format: Self.format,
            confirm: DurableRequest(.post, server.server.url("/confirm"), body: "{header:x-version}"))
        let id = try await outbox.enqueue(upload)
        try await world.deliver(outbox)
        let item = try #require(try await outbox.item(id.id))
        #expect(item.state == .failed && item.reason == "decodingFailed")
        #expect(server.state.requests == [.ask: 1, .put: 1])
        await outbox.close()
    }

    @Test func `the credential is sent to the backend only`() async throws {
        let server = try TicketServer()
        var configuration = Self.patient
        configuration.credentials = CredentialTable { $0 == "backend" ? .secret("token") : nil }
        let outbox = try await world.open(configuration)
        try await outbox.enqueue(try await upload(server, credential: .bearer(named: "backend")))
        try await world.deliver(outbox)
        expectDelivered(server)
        #expect(server.server.requests.map { $0.value(of: "Authorization") } == ["Bearer token", nil, "Bearer token"])
        await outbox.close()
    }

    @Test(arguments: [true, false]) func `the queue contains no signature`(_ isRejected: Bool) async throws {
        // S3 returns the signature and the request that it has signed.
        let mismatch =
            "<Error><Code>SignatureDoesNotMatch</Code><SignatureProvided>\(TicketServer.secret)2</SignatureProvided>"
            + "<CanonicalRequest>X-Amz-Signature=\(TicketServer.secret)2</CanonicalRequest></Error>"
        let server = try TicketServer(
            faults: [.put: [.expire] + (isRejected ? [.respond(403, mismatch)] : []), .confirm: [.loseResponse]])
        let outbox = try await world.open(Self.patient)
        try await outbox.enqueue(try await upload(server))
        try await world.deliver(outbox)
        if isRejected {
            let result = try #require(try await outbox.results().first)
            #expect(result.status == 403 && result.text == "<Error><Code>SignatureDoesNotMatch</Code></Error>")
        } else {
            expectDelivered(server)
        }
        await outbox.close()
        let names = try FileManager.default.subpathsOfDirectory(atPath: world.path)
        let files = names.compactMap { try? readFile("\(world.path)/\($0)") }
        #expect(files.contains { !$0.isEmpty })
        for file in files { #expect(file.firstRange(of: Array(TicketServer.secret.utf8)) == nil) }
    }

    @Test(arguments: ["{ticket:data}", "{header:a b}", "{stored:/x", "{ticket:/~2}"])
    func `an invalid placeholder is rejected when the upload is created`(_ body: String) throws {
        let ask = try DurableRequest(.post, "http://127.0.0.1:1/")
        let confirm = try DurableRequest(.post, "http://127.0.0.1:1/", body: body)
        let error = #expect(throws: UploadError.self) {
            try DurableTicketedUpload(data: [1], ask: ask, format: TicketFormat(), confirm: confirm)
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `values are encoded for their position`() async throws {
        let server = try LoopbackServer()
        server.route("/t", .respond(200, body: #"{"url":"\#(server.url("/o"))","id":"a/b \"ü\" \u0301"}"#))
        server.route("/o", .respond(200, body: #"{"hash":"x&y"}"#))
        let upload = try DurableTicketedUpload(
            data: [1], ask: DurableRequest(.post, server.url("/t")), format: TicketFormat(),
            confirm: DurableRequest(
                .post, server.url("/c/{ticket:/id}?h={stored:/hash}"), headers: [.from: "{stored:/hash}"],
                body: #"{"id":"{ticket:/id}"}"#))
        _ = try await upload.deliver(Delivery(session: world.session, idempotencyKey: "k"))
        let confirm = try #require(server.requests.last)
        #expect(confirm.target == "/c/a%2Fb%20%22%C3%BC%22%20%CC%81?h=x%26y")
        #expect(confirm.value(of: "From") == "x&y" && confirm.value(of: "Idempotency-Key") == "\"k-confirm\"")
        #expect(String(decoding: confirm.body, as: UTF8.self) == "{\"id\":\"a/b \\\"ü\\\" \u{301}\"}")
    }
}
