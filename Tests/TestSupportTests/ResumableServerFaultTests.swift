import TestSupport
import Testing

/// The server fails as scripted, for the given requests and only there.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableServerFaultTests {
    private func start(
        _ configure: (inout ResumableServer.Settings) -> Void = { _ in }
    ) throws -> (ResumableServer, ResumableClient) {
        let server = try ResumableServer(.draft8, configure: configure)
        return (server, ResumableClient(server: server))
    }

    // MARK: Cuts

    @Test(arguments: zip([ResumableServer.Keeping.all, .none, .first(1), .first(9)], [3, 0, 1, 3]))
    func `a cut keeps the scripted bytes`(_ keeping: ResumableServer.Keeping, _ kept: Int) throws {
        let (server, client) = try start()
        server.script(.on(.finish, 1, .cut(afterBytes: 3, keeping: keeping)))
        try client.create()
        let fields = client.fields(at: 0, completes: true)
        #expect(client.sendPart("PATCH", "/uploads/1", fields, length: 5, "hello") == "")
        #expect(try client.offset() == kept)
        #expect(server.requests[1].bodyBytes == 3)
        #expect(server.requests[1].status == nil)
        #expect(!server.requests[1].isBodyComplete)
        #expect(!server.requests[2].overlaps)
        #expect(try client.append(String("hello".dropFirst(kept)), at: kept, completes: true).status == 200)
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a cut after the last byte does not complete an upload`() throws {
        let (server, client) = try start()
        server.script(.on(.finish, 1, .cut(afterBytes: 5, closing: .reset)))
        try client.create()
        let fields = client.fields(at: 0, completes: true)
        #expect(client.sendPart("PATCH", "/uploads/1", fields, length: 5, "hello") == nil)
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Complete") == "?0")
        #expect(try client.offset() == 5)
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `an interrupted request leaves its bytes, unless only whole requests are stored`() async throws {
        for (storesOnlyWhole, offset) in [(false, 3), (true, 0)] {
            let (server, client) = try start { $0.storesOnlyWholeRequests = storesOnlyWhole }
            try client.create()
            do {
                let raw = try RawClient(port: server.port)
                let fields = client.fields(at: 0, completes: false)
                try raw.send(client.head("PATCH", "/uploads/1", fields, length: 5) + "hel")
                try await server.waitUntil { $0.requests.last?.bodyBytes == 3 }
            }
            try await server.settled()
            #expect(try client.offset() == offset)
            #expect(server.state.requests(.append)[0].wasEvicted == false)
            #expect(try client.append(String("hello".dropFirst(offset)), at: offset).status == 204)
        }
    }

    @Test func `a cut creation leaves nothing if only whole requests are stored`() throws {
        let (server, client) = try start { $0.storesOnlyWholeRequests = true }
        server.script(.on(.create, 1, .cut(afterBytes: 3)))
        let fields = ["Upload-Complete: ?0"]
        #expect(client.sendPart("POST", "/files", fields, length: 5, "hello") == "")
        #expect(try client.send("HEAD", "/uploads/1").status == 404)
        let reply = try client.send("POST", "/files", fields, "hello")
        #expect(reply.interims.count == 1)
        #expect(reply.value("Location") == "/uploads/2")
        #expect(server.uploads.map(\.isForgotten) == [true, false])
    }

    // MARK: Responses

    @Test func `a response is scripted, before or after performing the request`() throws {
        let (server, client) = try start()
        server.script(
            .on(.append, 1, .respond(ScriptedResponse(503))),
            .on(.append, 2, .perform(thenRespond: ScriptedResponse(500))))
        try client.create()
        #expect(try client.append("hello", at: 0).status == 503)
        #expect(try client.offset() == 0)
        #expect(try client.append("hello", at: 0).status == 500)
        #expect(try client.offset() == 5)
        #expect(server.state.requests(.append).map(\.status) == [503, 500])
    }

    @Test func `a response arrives before the content is read`() throws {
        let (server, client) = try start()
        server.script(.on(.append, .every, .respondEarly(ScriptedResponse(413), afterBytes: 2)))
        try client.create()
        let fields = client.fields(at: 0, completes: false)
        let text = try #require(client.sendPart("PATCH", "/uploads/1", fields, length: 5, "hello"))
        #expect(text.hasPrefix("HTTP/1.1 413 "))
        #expect(server.requests[1].bodyBytes == 2)
        #expect(server.uploads[0].offset == 0)
    }

    @Test func `a response is lost or truncated after performing the request`() throws {
        let (server, client) = try start()
        server.script(
            .on(.create, 1, .loseResponse()), .on(.append, 1, .truncateHead), .on(.finish, 1, .loseResponse(.reset)))
        let creation = client.sendPart("POST", "/files", ["Upload-Complete: ?0"], length: 0, "")
        #expect(creation?.hasPrefix("HTTP/1.1 104 ") == true)
        #expect(creation?.hasSuffix("\r\n\r\n") == true)
        let append = client.sendPart("PATCH", "/uploads/1", client.fields(at: 0, completes: false), length: 3, "hel")
        #expect(append?.hasPrefix("HTTP/1.1 204 ") == true)
        #expect(append?.contains("\r\n\r\n") == false)
        let finish = client.sendPart("PATCH", "/uploads/1", client.fields(at: 3, completes: true), length: 2, "lo")
        #expect(finish == nil)
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Complete") == "?1")
        #expect(try client.append("", at: 5, completes: true).body == "stored")
        #expect(server.runTexts == ["hello"])
        #expect(server.requests.prefix(3).map(\.status) == [nil, nil, nil])
    }

    @Test func `fields of a response are replaced and removed`() throws {
        let (server, client) = try start()
        server.script(
            .on(.offset, .from(2), .changeFields([("Upload-Offset", "x"), ("upload-limit", nil), ("X-More", "1")])))
        try client.create()
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Offset") == "0")
        for _ in 0..<2 {
            let reply = try client.send("HEAD", "/uploads/1")
            #expect(reply.value("Upload-Offset") == "x")
            #expect(reply.value("Upload-Limit") == nil)
            #expect(reply.value("X-More") == "1")
            #expect(reply.value("Upload-Complete") == "?0")
        }
        server.clearScript()
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Limit") == "min-size=0")
    }

    @Test func `interim responses precede and follow the content`() throws {
        let (server, client) = try start { $0.sendsInterim = false }
        let first = ScriptedResponse(104, headers: [("Location", "/other")])
        server.script(
            .on(.create, 1, .interim([first])), .on(.create, 1, .interim([ScriptedResponse(102)], .afterBody)))
        let fields = ["Upload-Complete: ?0", "Expect: 100-continue"]
        let reply = try client.send("POST", "/files", fields, "hello")
        #expect(reply.interims.map { String($0.dropFirst(9).prefix(3)) } == ["104", "100", "102"])
        #expect(reply.status == 201)
    }

    @Test(arguments: [true, false]) func `progress is reported in interim responses`(_ isChunked: Bool) throws {
        let (server, client) = try start { $0.interimEvery = 2 }
        try client.create()
        let fields = client.fields(at: 0, completes: false)
        let reply =
            isChunked
            ? try client.sendChunked("PATCH", "/uploads/1", fields, ["hello"])
            : try client.send("PATCH", "/uploads/1", fields, "hello")
        let offsets = reply.interims.map { ResumableClient.Reply.value("Upload-Offset", in: $0) }
        #expect(offsets == ["2", "4", "5"])
        #expect(reply.interims.allSatisfy { ResumableClient.Reply.value("Location", in: $0) == nil })
        #expect(server.requests[1].interims == 3)
        #expect(server.text == "hello")
    }

    @Test func `progress is reported in thousands of interim responses`() throws {
        let (server, client) = try start { $0.interimEvery = 1 }
        let text = String(repeating: "a", count: 2_000)
        let reply = try client.send("POST", "/files", ["Upload-Complete: ?1"], text)
        #expect(reply.interims.count == 2_001)
        #expect(server.runTexts == [text])
    }

    // MARK: Time

    @Test func `a response waits at a gate`() async throws {
        let (server, client) = try start()
        let (before, after) = (Gate(), Gate())
        server.script(
            .on(.append, 1, .gate(after)), .on(.finish, 1, .gate(before, .beforePerforming)))
        try client.create()
        let append = try RawClient(port: server.port)
        try append.send(client.head("PATCH", "/uploads/1", client.fields(at: 0, completes: false), length: 3) + "hel")
        try await server.waitUntil { $0.uploads[0].offset == 3 }
        #expect(server.requests[1].status == nil)
        after.open()
        #expect(try append.receive().hasPrefix("HTTP/1.1 204 "))
        let finish = try RawClient(port: server.port)
        try finish.send(client.head("PATCH", "/uploads/1", client.fields(at: 3, completes: true), length: 2) + "lo")
        try await server.waitUntil { $0.uploads[0].offset == 5 }
        #expect(server.applicationRuns.isEmpty)
        before.open()
        #expect(try finish.receive().hasPrefix("HTTP/1.1 200 "))
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a later request takes precedence over an earlier one`() async throws {
        let (server, client) = try start()
        let gate = Gate()
        server.script(.on(.finish, 1, .gate(gate, .beforePerforming)), .on(.append, 1, .hold))
        try client.create()
        let held = try RawClient(port: server.port)
        try held.send(client.head("PATCH", "/uploads/1", client.fields(at: 0, completes: false), length: 3) + "hel")
        try await server.waitUntil { $0.uploads[0].offset == 3 }
        let old = try RawClient(port: server.port)
        try old.send(client.head("PATCH", "/uploads/1", client.fields(at: 3, completes: true), length: 2) + "lo")
        try await server.waitUntil { $0.uploads[0].offset == 5 }
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Complete") == "?0")
        #expect(try client.append("", at: 5, completes: true).status == 200)
        gate.open()
        #expect(throws: SystemCallFailure.self) { try old.receive() }
        #expect(server.runTexts == ["hello"])
        #expect(server.requests.map(\.wasEvicted) == [false, true, true, false, false])
        #expect(server.requests.map(\.overlaps) == [false, false, true, true, false])
    }

    @Test func `content that arrives after a later request is ignored`() async throws {
        let (server, client) = try start()
        try client.create()
        let old = try RawClient(port: server.port)
        try old.send(client.head("PATCH", "/uploads/1", client.fields(at: 0, completes: true), length: 5) + "he")
        try await server.waitUntil { $0.requests.last?.bodyBytes == 2 }
        #expect(try client.offset() == 2)
        try old.send("llo")
        #expect(throws: SystemCallFailure.self) { try old.receive() }
        #expect(try client.offset() == 2)
        #expect(server.requests[1].bodyBytes == 5)
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `an expected continuation is refused before the content`() throws {
        let (server, client) = try start()
        let raw = try RawClient(port: server.port)
        let fields = client.fields(at: 0, completes: false) + ["Expect: 100-continue"]
        try raw.send(client.head("PATCH", "/uploads/1", fields, length: 5))
        #expect(try raw.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
        #expect(server.requests[0].bodyBytes == 0)
    }

    // MARK: State

    @Test func `uploads are forgotten and locked`() throws {
        let (server, client) = try start()
        server.script(.on(.append, 1, .forget(status: 410)))
        try client.create()
        #expect(try client.append("hello", at: 0).status == 410)
        #expect(try client.send("HEAD", "/uploads/1").status == 410)
        try client.create()
        server.lock("2", forRequests: 2)
        for status in [423, 423, 204] { #expect(try client.send("HEAD", "/uploads/2").status == status) }
        server.forget("2")
        #expect(try client.send("HEAD", "/uploads/2").status == 404)
        try client.create()
        server.forgetUploads()
        #expect(try client.send("HEAD", "/uploads/3").status == 404)
    }

    @Test func `the offset moves in both directions`() throws {
        let (server, client) = try start()
        try client.create(length: 5)
        _ = try client.append("hell", at: 0)
        server.loseBytes(of: "1", to: 1)
        #expect(try client.offset() == 1)
        server.gainBytes(of: "1", Array("ell".utf8))
        #expect(try client.offset() == 4)
        #expect(server.text == "hell")
        #expect(server.uploads[0].content.digest == BodyDigest(of: Array("hell".utf8)))
    }

    @Test func `only counts and digests are kept on request`() throws {
        let (server, client) = try start { $0.keepsBodies = false }
        try client.create()
        _ = try client.append("hel", at: 0)
        _ = try client.append("lo", at: 3, completes: true)
        let content = server.applicationRuns[0].content
        #expect(content.bytes == nil)
        #expect(content.size == 5)
        #expect(content.digest == BodyDigest(of: Array("hello".utf8)))
    }

    @Test func `wrong digests are rejected`() throws {
        let (server, client) = try start()
        let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
        let creation = ["Upload-Complete: ?0", "Repr-Digest: \(digest)", "Want-Repr-Digest: sha-256=1"]
        _ = try client.send("POST", "/files", creation)
        #expect(try client.append("hellO", at: 0, ["Content-Digest: \(digest)"]).status == 400)
        #expect(try client.append("hello", at: 0, ["Content-Digest: sha1=:AA==:, \(digest)"]).status == 204)
        #expect(try client.append("", at: 5, completes: true).value("Repr-Digest") == digest)
        _ = try client.send("POST", "/files", creation)
        let reply = try client.send("PATCH", "/uploads/2", client.fields(at: 0, completes: true), "hellO")
        #expect(reply.status == 400)
        #expect(server.uploads[1].isInvalid)
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a proxy rejects large content without fields of the protocol`() throws {
        let (server, client) = try start { $0.proxyBodyLimit = 4 }
        try client.create()
        let reply = try client.append("hello", at: 0)
        #expect(reply.status == 413)
        #expect(reply.value("Upload-Limit") == nil)
        let fields = client.fields(at: 0, completes: false)
        #expect(try client.sendChunked("PATCH", "/uploads/1", fields, ["hello"]).status == 413)
        #expect(try client.append("hell", at: 0).status == 204)
        #expect(server.uploads[0].offset == 4)
    }

    @Test func `a connection is closed before the head is read`() async throws {
        let (server, client) = try start()
        server.closeDuringNextRequest(.reset)
        #expect(client.sendPart("POST", "/files", ["Upload-Complete: ?0"], length: 0, "") == nil)
        #expect(try client.create().status == 201)
        #expect(server.requests.count == 1)
    }
}
