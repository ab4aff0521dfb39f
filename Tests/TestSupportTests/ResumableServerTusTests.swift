import TestSupport
import Testing

/// The rules of tus 1.0.0, as judged by the server.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableServerTusTests {
    private func start(
        _ configure: (inout ResumableServer.Settings) -> Void = { _ in }
    ) throws -> (ResumableServer, ResumableClient) {
        let server = try ResumableServer(.tus, configure: configure)
        return (server, ResumableClient(server: server, dialect: .tus))
    }

    // MARK: Versions

    @Test func `options list versions, extensions, the maximum size and checksums`() throws {
        let (_, client) = try start { $0.limits.maxSize = 100 }
        let reply = try client.send("OPTIONS", "/files", ["Tus-Resumable: 0.1"])
        #expect(reply.status == 204)
        #expect(reply.value("Tus-Version") == "1.0.0")
        #expect(reply.value("Tus-Resumable") == "1.0.0")
        #expect(reply.value("Tus-Max-Size") == "100")
        #expect(reply.value("Tus-Checksum-Algorithm") == "sha1,sha256")
        let expected = [
            "creation", "creation-with-upload", "creation-defer-length", "termination", "checksum", "checksum-trailer",
            "concatenation",
        ]
        #expect(reply.value("Tus-Extension") == expected.joined(separator: ","))
    }

    @Test func `an unsupported version is not processed`() throws {
        let (server, client) = try start()
        try client.create(length: 5)
        let fields = client.fields(at: 0)
        let reply = try client.send("PATCH", "/uploads/1", fields + ["Tus-Resumable: 0.2.2"], "hello")
        #expect(reply.status == 412)
        #expect(reply.value("Tus-Version") == "1.0.0")
        let other = ResumableClient(server: server, dialect: [])
        #expect(try other.send("PATCH", "/uploads/1", fields, "hello").status == 412)
        #expect(try other.send("HEAD", "/uploads/1").status == 412)
        #expect(server.uploads[0].offset == 0)
        #expect(try other.send("POST", "/files", [], "form").body == "stored")
        #expect(server.runTexts == ["form"])
    }

    // MARK: Creation and offsets

    @Test func `a creation needs a length or defers it`() throws {
        let (server, client) = try start { $0.limits.maxSize = 100 }
        #expect(try client.create().status == 400)
        #expect(try client.create(["Upload-Length: -1"]).status == 400)
        #expect(try client.create(["Upload-Defer-Length: 2"]).status == 400)
        #expect(try client.create(length: 1, ["Upload-Defer-Length: 1"]).status == 400)
        #expect(try client.create(length: 101).status == 413)
        #expect(server.uploads.isEmpty)
        let reply = try client.create(length: 100)
        #expect(reply.status == 201)
        #expect(reply.value("Location") == "/uploads/1")
        #expect(reply.value("Tus-Resumable") == "1.0.0")
        #expect(reply.value("Upload-Offset") == nil)
    }

    @Test func `appends complete an upload once`() throws {
        let (server, client) = try start { $0.uploadExpires = "Wed, 25 Jun 2098 16:00:00 GMT" }
        #expect(try client.create(length: 5).value("Upload-Expires") == "Wed, 25 Jun 2098 16:00:00 GMT")
        let first = try client.append("hel", at: 0)
        #expect(first.status == 204)
        #expect(first.value("Upload-Offset") == "3")
        #expect(first.value("Tus-Resumable") == "1.0.0")
        #expect(first.value("Upload-Expires") == "Wed, 25 Jun 2098 16:00:00 GMT")
        let head = try client.send("HEAD", "/uploads/1")
        #expect(head.status == 200)
        #expect(head.value("Upload-Offset") == "3")
        #expect(head.value("Upload-Length") == "5")
        #expect(head.value("Cache-Control") == "no-store")
        let last = try client.append("lo", at: 3)
        #expect(last.value("Upload-Offset") == "5")
        #expect(last.value("Upload-Expires") == nil)
        #expect(try client.append("", at: 5).value("Upload-Offset") == "5")
        #expect(try client.append("!", at: 5).status == 400)
        #expect(server.runTexts == ["hello"])
        #expect(server.requests.map(\.kind) == [.create, .append, .offset, .finish, .finish, .finish])
    }

    @Test func `an upload without bytes is complete when it is created`() throws {
        let (server, client) = try start()
        #expect(try client.create(length: 0).status == 201)
        #expect(try client.offset() == 0)
        #expect(server.runTexts == [""])
    }

    @Test func `a wrong offset or media type is rejected`() throws {
        let (server, client) = try start()
        try client.create(length: 5)
        #expect(try client.append("hello", at: 1).status == 409)
        #expect(try client.send("PATCH", "/uploads/1", ["Upload-Offset: 0"], "hello").status == 415)
        let type = "Content-Type: application/offset+octet-stream"
        #expect(try client.send("PATCH", "/uploads/1", [type], "hello").status == 400)
        #expect(try client.append("hello!", at: 0).status == 400)
        #expect(try client.sendChunked("PATCH", "/uploads/1", client.fields(at: 0), ["hello", "!"]).status == 400)
        #expect(try client.send("PATCH", "/uploads/9", client.fields(at: 0), "hello").status == 404)
        #expect(server.uploads[0].offset == 0)
        _ = try client.append("hel", at: 0)
        #expect(try client.sendChunked("PATCH", "/uploads/1", client.fields(at: 3), ["loo"]).status == 400)
        #expect(try client.offset() == 3)
    }

    @Test func `a creation may contain data`() throws {
        let (server, client) = try start()
        let type = "Content-Type: application/offset+octet-stream"
        let reply = try client.send("POST", "/files", ["Upload-Length: 5", type], "hel")
        #expect(reply.status == 201)
        #expect(reply.value("Upload-Offset") == "3")
        #expect(try client.append("lo", at: 3).status == 204)
        #expect(try client.send("POST", "/files", ["Upload-Length: 5"], "hel").status == 415)
        server.configure { $0.tusExtensions = ["creation"] }
        let ignored = try client.send("POST", "/files", ["Upload-Length: 5", type], "hel")
        #expect(ignored.status == 201)
        #expect(ignored.value("Upload-Offset") == nil)
        #expect(server.uploads.map(\.offset) == [5, 0])
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a deferred length is set once`() throws {
        let (server, client) = try start()
        try client.create(["Upload-Defer-Length: 1"])
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Defer-Length") == "1")
        #expect(try client.append("hel", at: 0).status == 204)
        #expect(try client.append("lo", at: 3, ["Upload-Length: 2"]).status == 400)
        #expect(try client.append("l", at: 3, ["Upload-Length: 5"]).status == 204)
        #expect(try client.append("o", at: 4, ["Upload-Length: 6"]).status == 400)
        let head = try client.send("HEAD", "/uploads/1")
        #expect(head.value("Upload-Length") == "5")
        #expect(head.value("Upload-Defer-Length") == nil)
        #expect(try client.append("o", at: 4).status == 204)
        #expect(server.runTexts == ["hello"])
    }

    @Test func `metadata is decoded and returned`() throws {
        let (server, client) = try start()
        let value = "filename w6QuanBn,empty ,none"
        try client.create(length: 1, ["Upload-Metadata: \(value)"])
        #expect(server.uploads[0].metadata == ["filename": Array("ä.jpg".utf8), "empty": [], "none": []])
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Metadata") == value)
        for invalid in ["a YQ==,a Yg==", "a YQ==, b Yg==", "a YQ", "a,,b", "ä YQ=="] {
            #expect(try client.create(length: 1, ["Upload-Metadata: \(invalid)"]).status == 400)
        }
    }

    // MARK: Extensions

    @Test func `a locked upload is rejected`() throws {
        let (server, client) = try start()
        try client.create(length: 5)
        server.lock("1", forRequests: 1)
        let reply = try client.append("hello", at: 0)
        #expect(reply.status == 423)
        #expect(reply.value("Tus-Resumable") == "1.0.0")
        #expect(try client.append("hello", at: 0).status == 204)
    }

    @Test func `a deleted upload is gone`() throws {
        let (server, client) = try start()
        try client.create(length: 1)
        #expect(try client.send("DELETE", "/uploads/1").status == 204)
        #expect(try client.send("HEAD", "/uploads/1").status == 404)
        #expect(server.uploads[0].isDeleted)
        server.configure { $0.tusExtensions = ["creation"] }
        try client.create(length: 1)
        #expect(try client.send("DELETE", "/uploads/2").status == 405)
    }

    @Test func `content with a wrong checksum is discarded`() throws {
        let (server, client) = try start()
        try client.create(length: 11)
        let sha1 = "Upload-Checksum: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0="
        let wrong = try client.append("hello_world", at: 0, [sha1])
        #expect(wrong.status == 460)
        #expect(try client.append("hello world", at: 0, ["Upload-Checksum: md5 AAAA"]).status == 400)
        #expect(try client.append("hello world", at: 0, ["Upload-Checksum: sha1"]).status == 400)
        #expect(server.uploads[0].offset == 0)
        #expect(try client.append("hello world", at: 0, [sha1]).status == 204)
        #expect(server.runTexts == ["hello world"])
    }

    @Test func `a checksum may be a trailer`() throws {
        let (server, client) = try start()
        try client.create(length: 11)
        let fields = client.fields(at: 0) + ["Trailer: Upload-Checksum"]
        let sha1 = "Upload-Checksum: sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0="
        let wrong = try client.sendChunked("PATCH", "/uploads/1", fields, ["hello", "_world"], trailers: [sha1])
        #expect(wrong.status == 460)
        let right = try client.sendChunked("PATCH", "/uploads/1", fields, ["hello", " world"], trailers: [sha1])
        #expect(right.status == 204)
        #expect(server.runTexts == ["hello world"])
    }

    @Test func `partial uploads are concatenated`() throws {
        let (server, client) = try start()
        try client.create(length: 3, ["Upload-Concat: partial"])
        try client.create(length: 2, ["Upload-Concat: partial"])
        _ = try client.append("hel", at: 0)
        let urls = "Upload-Concat: final;../uploads/1 http://a.example/uploads/2"
        #expect(try client.create([urls]).status == 400)
        _ = try client.send("PATCH", "/uploads/2", client.fields(at: 0), "lo")
        #expect(server.applicationRuns.isEmpty)
        #expect(try client.send("HEAD", "/uploads/1").value("Upload-Concat") == "partial")
        #expect(try client.create(length: 5, [urls]).status == 400)
        #expect(try client.create(["Upload-Concat: final;/uploads/9"]).status == 400)
        let reply = try client.create([urls, "Upload-Metadata: a YQ=="])
        #expect(reply.value("Location") == "/uploads/3")
        let head = try client.send("HEAD", "/uploads/3")
        #expect(head.value("Upload-Offset") == "5")
        #expect(head.value("Upload-Length") == "5")
        #expect(head.value("Upload-Concat") == "final;../uploads/1 http://a.example/uploads/2")
        #expect(try client.send("PATCH", "/uploads/3", client.fields(at: 5), "!").status == 403)
        #expect(server.runTexts == ["hello"])
        #expect(server.applicationRuns[0].metadata == ["a": Array("a".utf8)])
    }

    @Test func `a concatenation is a kind of request, and may discard the parts`() throws {
        let (server, client) = try start { $0.keepsParts = false }
        server.script(.on(.concatenate, 1, .respond(ScriptedResponse(503))))
        try client.create(length: 5, ["Upload-Concat: partial"])
        _ = try client.append("hello", at: 0)
        let fields = ["Upload-Concat: final;/uploads/1"]
        #expect(try client.create(fields).status == 503)
        #expect(server.applicationRuns.isEmpty)
        #expect(try client.create(fields).status == 201)
        #expect(server.requests.map(\.kind) == [.create, .finish, .concatenate, .concatenate])
        #expect(try client.send("HEAD", "/uploads/1").status == 404)
        #expect(try client.create(fields).status == 400)
        #expect(try client.send("HEAD", "/uploads/2").value("Upload-Offset") == "5")
        #expect(try client.send("DELETE", "/uploads/2").status == 204)
        #expect(server.runTexts == ["hello"])
    }

    @Test func `a server without concatenation rejects partial uploads`() throws {
        let (server, client) = try start { $0.tusExtensions.removeAll { $0 == "concatenation" } }
        #expect(try client.create(length: 5, ["Upload-Concat: partial"]).status == 400)
        #expect(try client.create(["Upload-Concat: final;/uploads/1"]).status == 400)
        #expect(server.uploads.isEmpty)
    }

    @Test func `a method can be overridden`() throws {
        let (server, client) = try start { $0.barredMethods = ["PATCH", "HEAD"] }
        try client.create(length: 5)
        #expect(try client.append("hello", at: 0).status == 405)
        #expect(try client.send("HEAD", "/uploads/1").status == 405)
        let fields = client.fields(at: 0) + ["X-HTTP-Method-Override: PATCH"]
        #expect(try client.send("POST", "/uploads/1", fields, "hello").status == 204)
        let head = try client.send("POST", "/uploads/1", ["X-HTTP-Method-Override: HEAD"])
        #expect(head.value("Upload-Offset") == "5")
        #expect(server.requests.map(\.method) == ["POST", "PATCH", "HEAD", "PATCH", "HEAD"])
        #expect(server.runTexts == ["hello"])
    }

    @Test func `an upload is complete when its last byte arrives`() async throws {
        let (server, client) = try start()
        server.script(.on(.finish, 1, .cut(afterBytes: 5)))
        try client.create(length: 5)
        #expect(client.sendPart("PATCH", "/uploads/1", client.fields(at: 0), length: 5, "hello") == "")
        #expect(try client.offset() == 5)
        #expect(server.runTexts == ["hello"])
    }
}
