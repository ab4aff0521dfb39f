import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct TicketedUploadTests {
    private let bytes = Array("the bytes of a photo ".utf8) + [UInt8](repeating: 65, count: 5_000)

    private func session(_ configure: (inout UploadSession.Configuration) -> Void = { _ in }) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.options.retry = RetryPolicy(baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
        configuration.retryBudget = nil
        configure(&configuration)
        return UploadSession(configuration: configuration)
    }

    private func upload(_ server: TicketServer, honoured: Bool = true) -> TicketedUpload {
        var format = TicketFormat(url: "/data/uploadUrl")
        format.method = "/data/method"
        format.headers = "/data/headers"
        format.validFor = "/data/expiresIn"
        let ask = UploadRequest(.post, server.server.url("/tickets"), content: .data(Array(#"{"type":"jpg"}"#.utf8)))
        var upload = TicketedUpload(data: bytes, contentType: "image/jpeg", ask: ask, format: format)
        let url = server.server.url("/confirm")
        upload.confirm = { stored in
            let etag = (stored.stored.headers[.eTag] ?? "").replacing("\"", with: "\\\"")
            var options = UploadOptions()
            options.retry = RetryPolicy(baseDelay: .milliseconds(1), maxDelay: .milliseconds(5))
            if honoured { options.idempotency = .honoured(window: .seconds(60)) }
            return UploadRequest(
                .post, "\(url)/\(try stored.ticket.value(at: "/data/id"))",
                content: .data(Array(#"{"etag":"\#(etag)"}"#.utf8)), options: options)
        }
        return upload
    }

    private func formUpload(_ server: TicketServer, isRepeatable: Bool) -> TicketedUpload {
        var upload = upload(server)
        upload.format.fields = "/data/fields"
        upload.format.isRepeatable = isRepeatable
        return upload
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
        let result = try await session().run(upload(server))
        expectDelivered(server, "\(row)")
        #expect(result.confirmed?.text == #"{"ok":true}"#)
        #expect(try result.ticket.value(at: "/data/id") == "object-1")
        #expect(server.state.faults.values.allSatisfy { $0.isEmpty })
    }

    @Test(arguments: TicketFaults.rows) func `a form that may be repeated ends with one object, too`(
        _ row: TicketFaults
    ) async throws {
        var settings = TicketServer.Settings()
        settings.isForm = true
        let server = try TicketServer(settings, faults: row.faults)
        _ = try await session().run(formUpload(server, isRepeatable: true))
        expectDelivered(server, "\(row)")
    }

    @Test func `a form that must not be repeated is posted once, and its outcome stays unknown`() async throws {
        var settings = TicketServer.Settings()
        settings.isForm = true
        let server = try TicketServer(settings, faults: [.put: [.loseResponse]])
        let error = await #expect(throws: UploadError.self) {
            try await session().run(formUpload(server, isRepeatable: false))
        }
        #expect(error?.outcome == .unknown && error?.message.hasPrefix("Step \"put\" failed.") == true)
        #expect(server.state.requests == [.ask: 1, .put: 1])
    }

    @Test func `an expired form is posted with a new ticket, because the store has rejected it`() async throws {
        var settings = TicketServer.Settings()
        settings.isForm = true
        let server = try TicketServer(settings, faults: [.put: [.expire]])
        _ = try await session().run(formUpload(server, isRepeatable: false))
        expectDelivered(server)
    }

    @Test func `a confirmation without honoured keys is not repeated, and its outcome stays unknown`() async throws {
        let server = try TicketServer(faults: [.confirm: [.loseResponse]])
        let error = await #expect(throws: UploadError.self) {
            try await session().run(upload(server, honoured: false))
        }
        #expect(error?.outcome == .unknown && error?.message.hasPrefix("Step \"confirm\" failed.") == true)
        #expect(error?.message.hasSuffix("The object is stored.") == true)
        #expect(server.state.requests == [.ask: 1, .put: 1, .confirm: 1])
    }

    @Test func `the number of tickets is limited`() async throws {
        let server = try TicketServer(faults: [.put: [.expire, .expire, .expire, .expire]])
        let error = await #expect(throws: UploadError.self) { try await session().run(upload(server)) }
        #expect(error?.code == .ticketExpired && error?.outcome == .rejected && error?.response == nil)
        #expect((error?.cause as? UploadError)?.response?.status == .forbidden)
        #expect(server.state.requests == [.ask: 3, .put: 3])
    }

    @Test func `a backend that returns an expired ticket again is reported`() async throws {
        var settings = TicketServer.Settings()
        settings.repeatsTickets = true
        let server = try TicketServer(settings, faults: [.put: [.respond(410, "")]])
        let error = await #expect(throws: UploadError.self) { try await session().run(upload(server)) }
        #expect(error?.code == .ticketExpired && error?.message.contains("Sign a new URL") == true)
        #expect(server.state.requests == [.ask: 2, .put: 1])
    }

    @Test func `a wrong signature is no expiry`() async throws {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>"
        let server = try TicketServer(faults: [.put: [.respond(403, body)]])
        let error = await #expect(throws: UploadError.self) { try await session().run(upload(server)) }
        #expect(error?.code == .rejected && error?.response?.text == body)
        #expect(server.state.requests == [.ask: 1, .put: 1])
    }

    @Test func `a ticket for another object is not used after a put that may have stored one`() async throws {
        var settings = TicketServer.Settings()
        settings.changesKeys = true
        let server = try TicketServer(settings, faults: [.put: [.loseResponse, .expire]])
        let error = await #expect(throws: UploadError.self) { try await session().run(upload(server)) }
        #expect(error?.code == .ticketForOtherObject && error?.outcome == .unknown)
        #expect(server.state.objects.count == 1 && server.state.requests == [.ask: 2, .put: 2])
    }

    @Test func `a ticket for another object is used if the store has rejected the first put`() async throws {
        var settings = TicketServer.Settings()
        settings.changesKeys = true
        let server = try TicketServer(settings, faults: [.put: [.expire]])
        _ = try await session().run(upload(server))
        #expect(server.state.objects.keys.sorted() == ["object-2"])
    }

    @Test func `a GET for a ticket has the idempotency key, too`() async throws {
        let server = try TicketServer(faults: [.put: [.expire]])
        var upload = upload(server)
        upload.ask = UploadRequest(.get, server.server.url("/tickets"))
        _ = try await session().run(upload)
        expectDelivered(server)
    }

    @Test func `the store receives no credentials and defaults of the session`() async throws {
        let server = try TicketServer()
        let session = session { configuration in
            configuration.headers[HTTPField.Name("X-Session")!] = "secret"
            configuration.options.authentication = .bearer(.secret("backend-token"))
            configuration.interceptors = [.judging("never") { $0.body.isEmpty ? .rejected() : .accepted }]
        }
        _ = try await session.run(upload(server))
        expectDelivered(server)
        let asked = try #require(server.server.requests.first)
        #expect(asked.value(of: "Authorization") == "Bearer backend-token" && asked.value(of: "X-Session") == "secret")
    }

    @Test func `no printed text contains the signature`() async throws {
        let server = try TicketServer(faults: [.put: [.expire, .expire, .expire]])
        let printed = Watched<[String]>([])
        let session = session()
        let events = Task { for await event in session.events { printed.update { $0.append("\(event)") } } }
        let error = await #expect(throws: UploadError.self) {
            try await session.run(upload(server)) { step, task in printed.update { $0.append("\(step) \(task)") } }
        }
        let result = try await session.run(upload(server))
        await session.close()
        await events.value
        let failure = try #require(error)
        var dumped = ""
        dump(result.ticket, to: &dumped)
        dump(failure, to: &dumped)
        let texts = printed.value + [dumped, "\(failure)", failure.debugDescription, "\(result.ticket)", "\(result)"]
        #expect(printed.value.count > 8)
        for text in texts { #expect(!text.contains(TicketServer.secret), "\(text)") }
    }

    @Test func `cancelling the task cancels the running step`() async throws {
        let server = try TicketServer(faults: [.put: [.hold]])
        let task = Task { try await session().run(upload(server)) }
        try await server.waitUntil { $0.requests[.put] == 1 }
        task.cancel()
        let error = await #expect(throws: UploadError.self) { try await task.value }
        #expect(error?.isCancelled == true)
        #expect(server.state.requests[.confirm] == nil)
    }

    @Test func `a file that changes between two puts is reported`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("photo.jpg", bytes)
        let server = try TicketServer(faults: [.put: [.expire]])
        var upload = upload(server)
        upload.source = TicketSource(file: DurableFile(path: path))
        let changed = bytes + [1]
        let change = { @Sendable (step: TicketedUpload.Step, _: UploadTask) in
            guard step == .ask, server.state.requests[.put] == 1 else { return }
            _ = try? directory.write("photo.jpg", changed)
        }
        let changing = upload
        let error = await #expect(throws: UploadError.self) {
            try await session().run(changing, onStep: change)
        }
        #expect(error?.code == .sourceChanged)
        #expect(server.state.objects.isEmpty)
    }

    private func ticket(_ number: Int) -> String { #"{"url":"http://store.example/\#(number)","validFor":60}"# }

    private var shortUpload: TicketedUpload {
        var format = TicketFormat()
        format.validFor = "/validFor"
        return TicketedUpload(data: bytes, ask: UploadRequest(.post, SessionWorld.url), format: format)
    }

    @Test func `a client certificate and a Unix domain socket of the session are for the backend only`() async throws {
        let world = SessionWorld([
            .responding(.ok, body: ticket(1)), .responding(.ok), .responding(.ok, body: ticket(2)), .responding(.ok),
        ])
        var options = world.session.options
        options.transfer.tls.clientCertificate = ClientCertificate(.file("client.pem"), key: .file("client.key"))
        options.transfer.unixSocket = "/run/backend.sock"
        var configuration = UploadSession.Configuration()
        configuration.options = options
        let session = UploadSession(configuration: configuration, transport: world.transport)
        var upload = shortUpload
        _ = try await session.run(upload)
        upload.options = options
        _ = try await session.run(upload)
        let sent = world.transport.transfers.map(\.request.options)
        #expect(sent.map { $0.tls.clientCertificate != nil } == [true, false, true, true])
        #expect(sent.map { $0.unixSocket != nil } == [true, false, true, true])
    }

    @Test func `tickets that expire while their puts wait for a slot do not count`() async throws {
        let clock = Watched<ManualClock?>(nil)
        let transport = ScriptedTransport { [bytes] request, number in
            guard request.method == .put else { return .responding(.ok, body: ticket(number)) }
            clock.value?.advance(by: .seconds(61))
            return [.connect, .receive(Int64(bytes.count)), .respond(.ok)]
        }
        let world = SessionWorld(transport, slots: 1)
        clock.update { $0 = world.clock }
        let upload = shortUpload
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 { group.addTask { _ = try await world.session.run(upload) } }
            try await group.waitForAll()
        }
        let puts = transport.transfers.filter { $0.request.method == .put }.count
        // Puts precede requests for tickets. Otherwise each put would cost all waiting uploads a ticket: 210 requests.
        #expect(puts == 20 && transport.transfers.count - puts < 120, "\(transport.transfers.count)")
    }

    @Test func `the validity of a ticket begins when the request for it is sent`() async throws {
        let world = SessionWorld([.responding(.ok, body: ticket(1)), .responding(.ok)])
        var upload = shortUpload
        var options = world.session.options
        options.group = "asks"
        upload.ask.options = options
        world.session.group("asks").pause()
        let steps = Watched(0)
        let running = Task { [upload] in
            try await world.session.run(upload) { _, _ in steps.update { $0 += 1 } }
        }
        _ = try await steps.waitUntil { $0 == 1 }
        world.clock.advance(by: .seconds(56))
        world.session.group("asks").resume()
        _ = try await running.value
        #expect(world.transport.transfers.map(\.request.url) == [SessionWorld.url, "http://store.example/1"])
    }

    @Test func `a ticket that expires during a pause is replaced before the first byte`() async throws {
        let world = SessionWorld([
            .responding(.ok, body: ticket(1)), .responding(.ok, body: ticket(2)), .responding(.ok),
        ])
        var upload = shortUpload
        var options = world.session.options
        options.group = "puts"
        upload.options = options
        world.session.group("puts").pause()
        let puts = Watched(0)
        let running = Task { [upload] in
            try await world.session.run(upload) { step, _ in puts.update { $0 += step == .put ? 1 : 0 } }
        }
        _ = try await puts.waitUntil { $0 == 1 }
        world.clock.advance(by: .seconds(56))
        world.session.group("puts").resume()
        _ = try await running.value
        let urls = world.transport.transfers.map(\.request.url)
        #expect(urls == [SessionWorld.url, SessionWorld.url, "http://store.example/2"])
    }
}
