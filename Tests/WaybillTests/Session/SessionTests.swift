import FoundationEssentials
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct SessionTests {
    @Test func `a form arrives completely, and its response is decoded`() async throws {
        let world = SessionWorld([.responding(.ok, headers: [.server: "x"], body: #"{"RETCODE":"000000"}"#)])
        let form: MultipartForm = [.text("TOKEN", .secret("s3cr3t")), .data("FILE", [1, 2, 3], fileName: "a.bin")]
        let response = try await world.session.upload(form, to: SessionWorld.url)
        struct Receipt: Decodable { var RETCODE: String }
        #expect(try response.decode(Receipt.self).RETCODE == "000000")
        #expect(response.status == .ok)
        #expect(response.headers[.server] == "x")
        #expect(response.attempts.map(\.number) == [1])
        let transfer = try #require(world.transport.transfers.first)
        #expect(transfer.request.method == .post)
        #expect(transfer.request.headers[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(transfer.body.count == Int(transfer.request.body?.length ?? 0))
        #expect(String(decoding: transfer.body, as: UTF8.self).contains("s3cr3t"))
    }

    @Test func `forms are sent with POST, and other contents with PUT`() async throws {
        let form: MultipartForm = [.text("a", "b")]
        let contents: [(UploadContent, HTTPRequest.Method)] = [
            (.form(form), .post), (.body(try await form.prepared()), .post), (.data([1]), .put), (.empty, .put),
        ]
        let world = SessionWorld(
            contents.flatMap { _ in [TransferScript.responding(.ok), .responding(.ok)] } + [.responding(.ok)])
        for (content, method) in contents {
            #expect(content.defaultMethod == method)
            _ = try await world.session.upload(content, to: SessionWorld.url)
            _ = try await world.session.start(content, to: SessionWorld.url).response
        }
        _ = try await world.session.upload(.data([1]), to: SessionWorld.url, method: .patch)
        #expect(world.transport.transfers.map(\.request.method) == contents.flatMap { [$0.1, $0.1] } + [.patch])
    }

    @Test func `phases arrive in order, and the last snapshot is terminal`() async throws {
        let seen = Watched<[UploadProgress]>([])
        let gates = (0..<3).map { _ in ScriptGate() }
        let world = SessionWorld([
            [
                .connect, .wait(gates[0]), .receive(40), .wait(gates[1]), .receiveRest, .wait(gates[2]),
                .respond(.created),
            ]
        ])
        async let response = world.session.upload(
            .data([UInt8](repeating: 1, count: 100)), to: SessionWorld.url
        ) { progress in
            seen.update { $0.append(progress) }
        }
        // The script continues only after the earlier step was observed.
        try await seen.waitUntil { $0.last?.phase == .sending }
        gates[0].open()
        try await seen.waitUntil { $0.last?.acknowledged == 40 }
        gates[1].open()
        try await seen.waitUntil { $0.last?.phase == .awaitingResponse }
        gates[2].open()
        #expect(try await response.status == .created)
        let progress = seen.value
        #expect(progress.last?.phase == .succeeded)
        #expect(progress.last?.fraction == 1)
        #expect(progress.allSatisfy { $0.attempt == 1 && $0.acknowledged <= 100 })
        #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
        let order = UploadPhase.allCases
        let ranks = progress.compactMap { order.firstIndex(of: $0.phase) }
        #expect(ranks == ranks.sorted())
    }

    @Test func `a failed attempt is retried after its delay with the same bytes`() async throws {
        let world = SessionWorld([.breaking(after: 30), .responding(.ok)])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        #expect(world.clock.pendingSleeps == [.seconds(1)])
        await task.reaches(.retrying)
        #expect(world.transport.transfers.count == 1)
        world.clock.advance(by: .seconds(1))
        let response = try await task.response
        #expect(response.attempts.map(\.outcome) == [.incomplete(acknowledged: 30), nil])
        #expect(response.attempts.map(\.code) == [.connectionLost, nil])
        #expect(response.attempts.first?.retryDelay == .seconds(1))
        #expect(world.transport.transfers.map(\.body.count) == [30, 100])
    }

    @Test func `Retry-After delays the retry`() async throws {
        let world = SessionWorld([.responding(.tooManyRequests, headers: [.retryAfter: "90"]), .responding(.ok)])
        let task = world.start()
        await world.clock.sleepers(atLeast: 1)
        #expect(world.clock.pendingSleeps == [.seconds(90)])
        world.clock.advance(by: .seconds(90))
        #expect(try await task.response.attempts.map(\.status?.code) == [429, 200])
    }

    @Test func `after three retries the last error has all attempts`() async throws {
        let world = SessionWorld([
            .failing(.hostNotFound), .responding(.serviceUnavailable, body: "busy"), .breaking(after: 5),
            .responding(.serviceUnavailable, body: "still busy"),
        ])
        let task = world.start()
        for _ in 0..<3 {
            await world.clock.sleepers(atLeast: 1)
            world.clock.advance(by: .seconds(60))
        }
        let error = try #require(await task.error())
        #expect(error.code == .rejected)
        #expect(error.outcome == .rejected)
        #expect(error.attempt == 4)
        #expect(error.response?.text == "still busy")
        #expect(error.attempts.map(\.code) == [.hostNotFound, .rejected, .connectionLost, .rejected])
        #expect(error.isRetryable)
        #expect(world.transport.transfers.count == 4)
    }

    @Test func `an upload that may have been stored is not sent again`() async throws {
        let world = SessionWorld([[.connect, .receiveRest, .fail(.connectionLost)], .responding(.ok)])
        let error = try #require(await world.start().error())
        #expect(error.outcome == .unknown)
        #expect(error.phase == .awaitingResponse)
        #expect(error.acknowledged == 100)
        #expect(!error.isRetryable)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a body that can be read only once is not retried`() async throws {
        let world = SessionWorld([.failing(.cannotConnect), .responding(.ok)])
        let task = world.session.start(.body(FaultyBody(isReplayable: false)), to: SessionWorld.url)
        #expect(await task.error()?.code == .cannotConnect)
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a failing body is not retried, and its reader is closed`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let body = FaultyBody(breaksAfter: 4)
        let error = try #require(await world.session.start(.body(body), to: SessionWorld.url).error())
        #expect(error.code == .bodyFailed)
        #expect(error.outcome == .incomplete(acknowledged: 4))
        #expect((error.cause as? TransferError)?.cause is FaultyBody.Broken)
        #expect(!error.isRetryable)
        #expect(world.transport.transfers.count == 1)
        #expect(body.closed.value == 1)
    }

    @Test func `the failing part is named while preparing and while sending`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let missing: MultipartForm = [.text("a", "b"), .file("FILE", path: "/nonexistent/card.jpg")]
        let early = try #require(await world.session.start(missing, to: SessionWorld.url).error())
        #expect(early.code == .fileNotFound)
        #expect(early.part == "FILE")
        #expect(early.phase == .preparing)
        #expect(early.outcome == .notSent)
        #expect(!early.isRetryable)
        #expect(world.transport.transfers.isEmpty)

        let directory = try TemporaryDirectory()
        let path = try directory.write("card.bin", [UInt8](repeating: 1, count: 100_000))
        let gate = ScriptGate()
        let changing = SessionWorld([[.connect, .receive(50_000), .wait(gate), .receiveRest, .respond(.ok)]])
        let task = changing.session.start([.file("FILE", path: path)], to: SessionWorld.url)
        await gate.arrivals(atLeast: 1)
        try directory.write("card.bin", [1, 2, 3])
        gate.open()
        let late = try #require(await task.error())
        #expect(late.code == .sourceChanged)
        #expect(late.part == "FILE")
        #expect(changing.transport.transfers.count == 1)
    }

    @Test func `an invalid request prepares and sends nothing`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let part = GatedPart()
        let form: MultipartForm = [.preparing("FILE", with: part)]
        for url in ["file:///etc/passwd", "backend.example/upload", ""] {
            let error = try #require(await world.session.start(form, to: url).error())
            #expect(error.code == .invalidURL)
        }
        let owned = world.session.start(form, to: SessionWorld.url, headers: [.contentLength: "1"])
        #expect(await owned.error()?.code == .invalidRequest)
        #expect(part.arrived.value == 0)
        #expect(world.transport.transfers.isEmpty)
    }

    @Test func `a request can have no body`() async throws {
        let world = SessionWorld([.responding(.noContent)])
        let response = try await world.session.send(UploadRequest(.delete, "http://backend.example/card/7"))
        #expect(response.status == .noContent)
        let transfer = try #require(world.transport.transfers.first)
        #expect(transfer.request.method == .delete)
        #expect(transfer.request.body == nil)
    }

    @Test func `accepts decides which statuses succeed`() async throws {
        let world = SessionWorld([.responding(.notFound, body: "no")])
        let any = UploadOptions(accepts: .any)
        let response = try await world.session.send(UploadRequest(.get, SessionWorld.url, options: any))
        #expect(response.text == "no")
        let error = try #require(await world.start().error())
        #expect(error.code == .rejected)
        #expect(error.response?.status == .notFound)
        #expect(throws: UploadError.self) { try response.decode(Int.self) }
    }

    @Test func `a stream is sent as it is produced`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let (chunks, input) = AsyncStream.makeStream(of: [UInt8].self)
        let task = world.session.start(
            .stream(chunks, length: 6, contentType: "text/plain"), to: SessionWorld.url)
        for chunk in [[1, 2], [3], [4, 5, 6]] as [[UInt8]] { input.yield(chunk) }
        input.finish()
        _ = try await task.response
        #expect(world.transport.transfers.first?.body == [1, 2, 3, 4, 5, 6])
        #expect(world.transport.transfers.first?.request.headers[.contentType] == "text/plain")
    }
}
