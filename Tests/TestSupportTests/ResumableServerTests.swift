import TestSupport
import Testing

/// The rules of the draft, as judged by the server.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableServerTests {
    typealias Dialect = ResumableServer.Dialect

    static let versions: [Dialect] = [.draft8, .draft6]

    private func start(
        _ dialect: Dialect = .draft8, _ configure: (inout ResumableServer.Settings) -> Void = { _ in }
    ) throws -> (ResumableServer, ResumableClient) {
        let server = try ResumableServer(dialect, configure: configure)
        return (server, ResumableClient(server: server, dialect: dialect))
    }

    // MARK: Creation

    @Test(arguments: versions) func `a creation is announced by an interim response`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect) { $0.limits.maxAge = 60 }
        let reply = try client.create(length: 10, ["Content-Type: text/x-form"])
        #expect(reply.interims.count == 1)
        let interim = reply.interims[0]
        #expect(interim.hasPrefix("HTTP/1.1 104 "))
        #expect(ResumableClient.Reply.value("Location", in: interim) == "/uploads/1")
        let limit = dialect == .draft8 ? "max-age=60" : "expires=60"
        #expect(ResumableClient.Reply.value("Upload-Limit", in: interim) == limit)
        let version = dialect == .draft8 ? "8" : "6"
        #expect(ResumableClient.Reply.value("Upload-Draft-Interop-Version", in: interim) == version)
        #expect(reply.status == 201)
        #expect(reply.value("Location") == "/uploads/1")
        #expect(reply.value("Upload-Complete") == "?0")
        #expect(reply.value("Upload-Limit") == limit)
        #expect(server.uploads[0].contentType == "text/x-form")
        #expect(server.uploads[0].length == 10)
        #expect(server.requests[0].kind == .create)
        #expect(server.applicationRuns.isEmpty)
    }

    @Test(arguments: versions) func `a whole creation is handed to the application`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect) { $0.sendsInterim = false }
        server.respond(with: ScriptedResponse(202, headers: [("X-Made", "yes")], text: "thanks"))
        let reply = try client.send("PUT", "/form", ["Upload-Complete: ?1", "X-Own: 1"], "hello")
        #expect(reply.interims.isEmpty)
        #expect(reply.status == 202)
        #expect(reply.value("X-Made") == "yes")
        #expect(reply.value("Upload-Complete") == "?1")
        #expect(reply.body == "thanks")
        #expect(server.runTexts == ["hello"])
        #expect(server.applicationRuns[0].method == "PUT")
        #expect(server.applicationRuns[0].value(of: "X-Own") == "1")
        #expect(server.uploads[0].isComplete)
    }

    @Test(arguments: ["", "Upload-Draft-Interop-Version: 7", "Upload-Draft-Interop-Version: \"8\""])
    func `a request without the interop version is an ordinary upload`(_ version: String) throws {
        let server = try ResumableServer([.draft8, .draft6])
        let client = ResumableClient(server: server, dialect: [])
        let reply = try client.send(
            "POST", "/files", ["Upload-Complete: ?0"] + (version.isEmpty ? [] : [version]), "form")
        #expect(reply.status == 200)
        #expect(reply.interims.isEmpty)
        #expect(reply.value("Upload-Complete") == nil)
        #expect(server.requests[0].kind == .ordinary)
        #expect(server.uploads.isEmpty)
        #expect(server.runTexts == ["form"])
    }

    @Test(arguments: ["?2", "1", "true", "\"?1\"", "?1, ?1", "?0;A=1"])
    func `an invalid completeness is ignored`(_ value: String) throws {
        let (server, client) = try start()
        #expect(try client.send("POST", "/files", ["Upload-Complete: \(value)"], "form").status == 200)
        #expect(server.requests[0].kind == .ordinary)
        #expect(try client.send("POST", "/files", ["Upload-Complete: ?0; a; b=1"]).status == 201)
    }

    @Test(
        arguments: zip(
            [ResumableServer.LocationStyle.path, .relative, .absolute, .origin("https://b.example")],
            ["/uploads/1", "../uploads/1", "http://a.example/uploads/1", "https://b.example/uploads/1"]))
    func `a location has the configured form`(_ style: ResumableServer.LocationStyle, _ expected: String) throws {
        let (_, client) = try start { $0.location = style }
        let reply = try client.send("POST", "/a/files?x=/uploads/1", ["Upload-Complete: ?0"])
        #expect(reply.value("Location") == expected)
        #expect(ResumableClient.Reply.value("Location", in: reply.interims[0]) == expected)
        #expect(try client.send("HEAD", "http://a.example/uploads/1").status == 204)
        #expect(try client.send("POST", "/api/uploads/1", ["Upload-Complete: ?0"]).status == 201)
    }

    // MARK: Offsets

    @Test(arguments: versions) func `an offset retrieval reports the whole state`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect)
        _ = try client.send("POST", "/files", ["Upload-Complete: ?0", "Upload-Length: 9"], "hello")
        let reply = try client.send("HEAD", "/uploads/1")
        #expect(reply.status == 204)
        #expect(reply.value("Upload-Offset") == "5")
        #expect(reply.value("Upload-Complete") == "?0")
        #expect(reply.value("Upload-Length") == "9")
        #expect(reply.value("Upload-Limit") == "min-size=0")
        #expect(reply.value("Cache-Control") == "no-store")
        server.configure { $0.offsetStatus = 200 }
        #expect(try client.send("HEAD", "/uploads/1").status == 200)
        #expect(try client.send("GET", "/uploads/1").status == (dialect == .draft8 ? 200 : 405))
        #expect(try client.send("HEAD", "/uploads/1", ["Upload-Offset: 5"]).status == (dialect == .draft8 ? 200 : 400))
        #expect(try client.send("HEAD", "/uploads/2").status == 404)
        #expect(try client.send("POST", "/uploads/1").status == 405)
    }

    @Test(arguments: versions) func `appends complete an upload once`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect)
        try client.create()
        let first = try client.append("hel", at: 0)
        #expect(first.status == (dialect == .draft8 ? 204 : 201))
        #expect(first.value("Upload-Complete") == "?0")
        #expect(first.value("Upload-Offset") == "3")
        #expect(first.value("Location") == nil)
        let last = try client.append("lo", at: 3, completes: true)
        #expect(last.status == 200)
        #expect(last.value("Upload-Complete") == "?1")
        #expect(last.body == "stored")
        #expect(server.runTexts == ["hello"])
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Complete") == "?1")
        #expect(server.requests.map(\.kind) == [.create, .append, .finish, .offset])
        #expect(server.requests.map(\.bodyBytes) == [0, 3, 2, 0])
        #expect(server.requests.map(\.claimedOffset) == [nil, 0, 3, nil])
        #expect(server.requests.map(\.saysComplete) == [false, false, true, nil])
    }

    @Test(arguments: versions) func `a wrong offset is rejected with the right one`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect)
        try client.create()
        _ = try client.append("hello", at: 0)
        let reply = try client.append("x", at: 4)
        #expect(reply.status == 409)
        #expect(reply.value("Upload-Offset") == "5")
        #expect(reply.value("Upload-Complete") == "?0")
        #expect(reply.value("Content-Type") == "application/problem+json")
        #expect(reply.body.contains(##"types#mismatching-upload-offset""##))
        #expect(reply.body.contains(#""expected-offset":5,"provided-offset":4}"#))
        #expect(server.text == "hello")
    }

    @Test func `an append needs its media type, its offset and its completeness`() throws {
        let (server, client) = try start([.draft8, .draft6])
        let (new, old) = (
            ResumableClient(server: server, dialect: .draft8), ResumableClient(server: server, dialect: .draft6)
        )
        try new.create()
        let type = "Content-Type: application/partial-upload"
        let untyped = try new.send("PATCH", "/uploads/1", ["Upload-Offset: 0", "Upload-Complete: ?0"], "a")
        #expect(untyped.status == 415)
        #expect(untyped.value("Accept-Patch") == "application/partial-upload")
        #expect(try new.send("PATCH", "/uploads/1", [type, "Upload-Complete: ?0"], "a").status == 400)
        #expect(try new.send("PATCH", "/uploads/1", [type, "Upload-Offset: -1", "Upload-Complete: ?0"]).status == 400)
        #expect(try new.send("PATCH", "/uploads/1", [type, "Upload-Offset: 0"], "a").status == 400)
        #expect(try old.send("PATCH", "/uploads/1", [type, "Upload-Offset: 0"], "a").status == 201)
        let fields = [type, "Upload-Offset: 1", "Upload-Complete: ?0"]
        #expect(try client.send("PATCH", "/uploads/1", fields).status == 200)
        #expect(server.runTexts == [""])
        #expect(server.text == "a")
    }

    @Test func `offsets in responses to appends are optional in draft 8 only`() throws {
        for dialect in Self.versions {
            let (_, client) = try start(dialect) { $0.reportsOffsets = false }
            try client.create()
            #expect(try client.append("a", at: 0).value("Upload-Offset") == (dialect == .draft8 ? nil : "1"))
        }
    }

    @Test func `a connection is kept alive after a rejection`() async throws {
        let (server, client) = try start()
        try client.create()
        let version = "Upload-Draft-Interop-Version: 8"
        let fields = (client.fields(at: 1, completes: false) + [version]).flatMap { ["-H", $0] }
        let run = try await ChildProcess.run(
            "curl",
            ["-s", "-X", "PATCH", "--data-binary", "hello"] + fields + [server.url("/uploads/1"), "--next", "-s", "-I"]
                + ["-H", version, server.url("/uploads/1")])
        #expect(run.text.contains("HTTP/1.1 204 No Content"))
        #expect(server.requests.map(\.status) == [201, 409, 204])
        #expect(server.requests.map(\.head.connection) == [0, 1, 1])
        #expect(server.violations.isEmpty)
    }

    // MARK: Length and completion

    @Test(arguments: versions, [true, false])
    func `content beyond the length invalidates the upload`(_ dialect: Dialect, _ isChunked: Bool) throws {
        let (server, client) = try start(dialect)
        try client.create(length: 4)
        let fields = client.fields(at: 0, completes: false)
        let reply =
            isChunked
            ? try client.sendChunked("PATCH", "/uploads/1", fields, ["hello"])
            : try client.send("PATCH", "/uploads/1", fields, "hello")
        #expect(reply.status == 400)
        #expect(reply.value("Upload-Complete") == "?0")
        // Draft -05 only rejects the request.
        #expect(try client.send("HEAD", "/uploads/1").status == (dialect == .draft8 ? 404 : 204))
        #expect(server.uploads[0].isInvalid == (dialect == .draft8))
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `inconsistent lengths are rejected`() throws {
        let (server, client) = try start()
        let creation = try client.send("POST", "/files", ["Upload-Complete: ?1", "Upload-Length: 4"], "hello")
        #expect(creation.status == 400)
        #expect(creation.body.contains("inconsistent-upload-length"))
        #expect(server.uploads.isEmpty)
        try client.create(length: 9)
        #expect(try client.append("hello", at: 0, ["Upload-Length: 8"]).status == 400)
        #expect(try client.append("hello", at: 0, completes: true).status == 400)
        let fields = client.fields(at: 0, completes: true)
        #expect(try client.sendChunked("PATCH", "/uploads/1", fields, ["a"]).status == 400)
        #expect(try client.offset() == 1)
        #expect(try client.append("2345678", at: 1).status == 204)
        #expect(try client.append("9", at: 8, completes: true).status == 200)
        #expect(server.runTexts == ["a23456789"])
    }

    @Test func `a length below the offset is rejected`() throws {
        let (server, client) = try start()
        try client.create()
        _ = try client.append("hello", at: 0)
        let fields = client.fields(at: 5, completes: false) + ["Upload-Length: 4"]
        #expect(try client.sendChunked("PATCH", "/uploads/1", fields, []).status == 400)
        #expect(try client.offset() == 5)
        #expect(server.uploads[0].length == nil)
    }

    @Test(arguments: versions) func `an empty append completes an upload`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect)
        try client.create(length: 5)
        _ = try client.append("hello", at: 0)
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Complete") == "?0")
        #expect(server.applicationRuns.isEmpty)
        #expect(try client.append("", at: 5, completes: true).body == "stored")
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a completed upload replays its response`() throws {
        let (server, _) = try start([.draft8, .draft6])
        let (new, old) = (
            ResumableClient(server: server, dialect: .draft8), ResumableClient(server: server, dialect: .draft6)
        )
        server.respond(with: ScriptedResponse(422, text: "bad form"))
        _ = try new.send("POST", "/files", ["Upload-Complete: ?1"], "hello")
        server.respond(with: ScriptedResponse(200, text: "other"))
        let reply = try new.append("", at: 5, completes: true)
        #expect(reply.status == 422)
        #expect(reply.body == "bad form")
        #expect(reply.value("Upload-Complete") == "?1")
        #expect(try new.append("", at: 4, completes: true).status == 409)
        #expect(try new.append("", at: 5).status == 400)
        #expect(try new.append("!", at: 5, completes: true).status == 400)
        #expect(try old.append("", at: 5, completes: true).body.contains("completed-upload"))
        server.configure { $0.replaysResponse = false }
        #expect(try new.append("", at: 5, completes: true).status == 400)
        server.configure { $0.keepsCompleted = false }
        #expect(try new.send("HEAD", "/uploads/1").status == 404)
        #expect(server.runTexts == ["hello"])
    }

    @Test(arguments: versions) func `a deleted upload is gone`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect) { $0.goneStatus = 410 }
        try client.create()
        let withField = try client.send("DELETE", "/uploads/1", ["Upload-Offset: 0"])
        #expect(withField.status == (dialect == .draft8 ? 204 : 400))
        #expect(try client.send("DELETE", "/uploads/1").status == (dialect == .draft8 ? 410 : 204))
        #expect(try client.append("a", at: 0).status == 410)
        #expect(server.uploads[0].isDeleted)
    }

    // MARK: Limits

    @Test(arguments: versions) func `limits are announced and enforced`(_ dialect: Dialect) throws {
        let (server, client) = try start(dialect) { settings in
            settings.limits.maxSize = 20
            settings.limits.minSize = 4
            settings.limits.maxAppend = 8
            settings.limits.minAppend = 2
            settings.limits.maxAge = 60
        }
        let age = dialect == .draft8 ? "max-age" : "expires"
        let text = "max-size=20, min-size=4, max-append-size=8, min-append-size=2, \(age)=60"
        #expect(try client.send("OPTIONS").value("Upload-Limit") == text)
        #expect(try client.create(length: 21).status == 413)
        #expect(try client.create(length: 3).status == 400)
        #expect(try client.create().status == 400)
        let small = try client.send("POST", "/files", ["Upload-Complete: ?1"], "abc")
        #expect(small.interims.isEmpty && small.status == 200)
        #expect(small.value("Upload-Complete") == "?1")
        #expect(server.uploads.isEmpty)
        #expect(try client.create(length: 10).status == 201)
        let large = try client.append("123456789", at: 0)
        #expect(large.status == 413)
        #expect(large.value("Upload-Limit") == text)
        #expect(large.value("Upload-Offset") == "0")
        #expect(try client.append("1", at: 0).status == 400)
        let chunks = ["12345", "6789"]
        let chunked = try client.sendChunked("PATCH", "/uploads/1", client.fields(at: 0, completes: false), chunks)
        #expect(chunked.status == 413)
        #expect(try client.offset() == 0)
        #expect(try client.append("12345678", at: 0).value("Upload-Offset") == "8")
        _ = try client.append("9", at: 8)
        #expect(try client.append("90", at: 8, completes: true).status == 200)
        #expect(server.runTexts == ["abc", "1234567890"])
    }

    @Test func `an upload of unknown length ends at the maximum size`() throws {
        let (server, client) = try start { $0.limits.maxSize = 4 }
        try client.create()
        #expect(try client.append("1234", at: 0).status == 204)
        #expect(try client.append("5", at: 4).status == 413)
        #expect(try client.offset() == nil)
        #expect(server.uploads[0].isInvalid)
    }

    @Test func `the content of each request but the last is a multiple`() throws {
        let (server, client) = try start { $0.appendMultiple = 4 }
        try client.create(length: 9)
        #expect(try client.append("12345", at: 0).status == 400)
        #expect(try client.append("1234", at: 0).status == 204)
        #expect(try client.append("56789", at: 4, completes: true).status == 200)
        #expect(server.runTexts == ["123456789"])
    }

    @Test func `options without limits announce the support`() throws {
        let (server, client) = try start([.draft8, .draft6])
        #expect(try client.send("OPTIONS").value("Upload-Limit") == nil)
        let reply = try ResumableClient(server: server, dialect: .draft6).send("OPTIONS", "*")
        #expect(reply.status == 204)
        #expect(reply.value("Upload-Limit") == "min-size=0")
        #expect(reply.value("Tus-Version") == nil)
        #expect(server.state.requests(.options).count == 2)
    }
}
