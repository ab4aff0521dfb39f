import Foundation
import TestSupport
import Testing
import WaybillCore

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PostTests {
    @Test func `a form is posted, and only the response is written to standard output`() async throws {
        let folder = try TemporaryDirectory()
        let card = try folder.write("card.jpg", [1, 2, 3])
        let server = try LoopbackServer(
            .respond(ScriptedResponse(201, headers: [("X-A", "b")], body: [0x7B, 0, 0xFF, 0x7D])))
        let run = try await Tool.run(
            ["post", server.url("/form?key=hidden"), "-F", "BUSINESSNO=20240001", "-F", "front=@\(card)"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.output == [0x7B, 0, 0xFF, 0x7D])
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first == "sending 2 parts to http://127.0.0.1:\(server.port)/form?<redacted>")
        #expect(lines.last?.hasPrefix("done: 201 Created, ") == true)
        let request = try await server.request(0)
        #expect(request.method == "POST")
        #expect(request.value(of: "User-Agent")?.hasPrefix("waybill/") == true)
    }

    @Test func `the body matches that of curl with the same arguments`() async throws {
        let folder = try TemporaryDirectory()
        let front = try folder.write("front.jpg", (0..<5_000).map { UInt8(truncatingIfNeeded: $0) })
        let odd = try folder.write("a;b,c \"d\".bin", [0, 1, 2])
        let token = try folder.write("token.txt", Array("tok\nen\r\n".utf8) + [0xB0, 0xA1])
        let quotedOdd = odd.replacingOccurrences(of: "\"", with: "\\\"")
        let arguments = [
            "-F", "plain=abc def", "-F", "empty=", "-F", " spaced name =  x y  ", "-F", #"quoted=" a;b\"c\\ ""#,
            "-F", "number=号码=1", "-F", "typed=hello;type=text/html; charset=utf-8", "-F", "lines=one\ntwo",
            "-F", "FILE=@\(front)", "-F", "FILE=@\(front);filename=身份证 正面.jpg;type=image/pjpeg",
            "-F", "odd=@\"\(quotedOdd)\";filename=\"x;y\\\"z\"", "-F", "secret=<\(token)",
            "-F", "html=<\(token);type=text/html", "--form-string", "raw=@not;a=file", "-F", "last=1",
        ]
        let headers = ["-H", "X-One: 1", "-H", "X-Empty;", "-u", "user:pass", "-X", "PUT"]
        let server = try LoopbackServer()
        let ours = try await Tool.run(["post", server.url("/ours")] + arguments + headers)
        #expect(ours.exit == .status(0), "\(ours.errorText)")
        let curl = try await ChildProcess.run("curl", ["-sS", server.url("/curl")] + arguments + headers)
        #expect(curl.exit == .status(0), "\(curl.errorText)")
        let mine = try #require(server.requests.first { $0.path == "/ours" })
        let theirs = try #require(server.requests.first { $0.path == "/curl" })
        #expect(mine.bodyWithoutBoundary == theirs.bodyWithoutBoundary)
        #expect(mine.method == theirs.method)
        for name in ["X-One", "X-Empty", "Authorization", "Accept"] {
            #expect(mine.values(of: name) == theirs.values(of: name))
        }
    }

    @Test func `--digest responds to a challenge as curl does`() async throws {
        let value = "Digest realm=\"cards\", nonce=\"n0nce\", qop=\"auth\", algorithm=MD5"
        let challenge = Behaviour.respond(401, headers: [("WWW-Authenticate", value)])
        let server = try LoopbackServer(challenge, .respond(200), challenge, .respond(200))
        let arguments = ["-u", "clerk:pass:word", "--digest", "-F", "a=b", server.url("/form")]
        let ours = try await Tool.run(["post"] + arguments)
        #expect(ours.exit == .status(0), "\(ours.errorText)")
        let curl = try await ChildProcess.run("curl", ["-sS"] + arguments)
        #expect(curl.exit == .status(0), "\(curl.errorText)")
        #expect(server.requests.map { $0.body.isEmpty } == [true, false, true, false])
        let answers = server.requests.compactMap { $0.value(of: "Authorization") }
        // Excludes the client nonce and the hash derived from it.
        let parts = answers.map { answer in
            answer.split(separator: ", ").filter { !$0.contains("cnonce=") && !$0.contains("response=") }
        }
        #expect(parts.count == 2 && parts[0] == parts[1], "\(answers)")
    }

    @Test func `text fields are read from files, standard input and the environment`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("t", "from file")
        let server = try LoopbackServer()
        let run = try await Tool.run(
            ["post", server.url(), "-F", "a=<\(file)", "-F", "b=<-", "-F", "c=env:WB_TEXT"],
            environment: ["WB_TEXT": "from environment"], input: Array("from input".utf8))
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).bodyWithoutBoundary
        for (name, text) in [("a", "from file"), ("b", "from input"), ("c", "from environment")] {
            #expect(body.contains("name=\"\(name)\"\r\n\r\n\(text)\r\n"))
        }
    }

    @Test func `several files of one argument are parts of the same name`() async throws {
        let folder = try TemporaryDirectory()
        let (one, two) = (try folder.write("1.txt", "first"), try folder.write("2.txt", "second"))
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url(), "-F", "f=@\(one),\(two);filename=b.txt"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).bodyWithoutBoundary
        #expect(body.contains("name=\"f\"; filename=\"1.txt\"\r\nContent-Type: text/plain\r\n\r\nfirst\r\n"))
        #expect(body.contains("name=\"f\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\nsecond\r\n"))
    }

    @Test func `an image is recompressed before it is sent`() async throws {
        let folder = try TemporaryDirectory()
        let photo = NoisePhoto.bytes(width: 400, height: 320, seed: 5)
        let path = try folder.write("card.jpeg", photo)
        let server = try LoopbackServer()
        let run = try await Tool.run([
            "post", server.url(), "-F", "front=@\(path);filename=IDFrontImage.jpg", "-F", "orig=@\(path)",
            "--max-bytes", "front=10KiB",
        ])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(photo.count > 20_000)
        let body = try await server.request(0).body
        // The original, the recompressed image within its limit, and some header lines.
        #expect(body.count > photo.count && body.count <= photo.count + 10_240 + 600)
        let head = "name=\"front\"; filename=\"IDFrontImage.jpg\"\r\nContent-Type: image/jpeg"
        #expect(String(decoding: body, as: UTF8.self).contains(head))
    }

    @Test func `a response replaces the file of -o atomically`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("answer", "an older and longer answer")
        let server = try LoopbackServer(otherwise: .respond(200, body: "new"))
        for target in [path, "/dev/null"] {
            let run = try await Tool.run(["post", server.url(), "-F", "a=b", "-o", target])
            #expect(run.exit == .status(0) && run.output.isEmpty, "\(run.errorText)")
        }
        #expect(try folder.read("answer") == Array("new".utf8))
        #expect(try folder.names() == ["answer"])
    }

    @Test func `every line of --json is an object, and the summary with the response is last`() async throws {
        let server = try LoopbackServer(
            .respond(503, headers: [("Retry-After", "1")]), .respond(200, body: "{\"你\":1}\u{1B}"))
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--json", "--retry", "2"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.errorText.isEmpty)
        let lines = try run.jsonLines()
        #expect(lines.allSatisfy { $0["v"] as? Int == 1 && $0["t"] is String })
        #expect(lines.first?["event"] as? String == "start")
        #expect(lines.dropFirst().dropLast().allSatisfy { $0["event"] as? String == "progress" })
        let retry = try #require(lines.compactMap { $0["retry"] as? [String: Any] }.first)
        #expect(retry["reason"] as? String == "503 Service Unavailable" && retry["attempt"] as? Int == 2)
        let summary = try #require(lines.last)
        #expect(summary["event"] as? String == "summary")
        #expect(summary["result"] as? String == "succeeded")
        #expect(summary["exit"] as? Int == 0)
        #expect(summary["status"] as? Int == 200)
        #expect(summary["body"] as? String == "{\"你\":1}\u{1B}")
        #expect((summary["attempts"] as? [[String: Any]])?.map { $0["status"] as? Int } == [503, 200])
        #expect(!run.text.contains("\u{1B}"))
    }

    @Test func `without a terminal each retry has a line, and --progress-interval is checked`() async throws {
        let server = try LoopbackServer(.respond(503, headers: [("Retry-After", "1")]), .respond(200))
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--retry", "2", "--progress-interval", "5m"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let line = try #require(run.errorText.split(separator: "\n").first { $0.hasPrefix("retrying ") })
        #expect(line.hasSuffix(": 503 Service Unavailable (attempt 2 of 3)"), "\(line)")
        let wrong = try await Tool.run(["post", server.url(), "-F", "a=b", "--progress-interval", "soon"])
        #expect(wrong.exit == .status(2) && wrong.errorText.contains("--progress-interval"), "\(wrong.errorText)")
        #expect(server.requests.count == 2)
    }

    @Test func `a response that is not text is in the summary as base64`() async throws {
        let server = try LoopbackServer(.respond(ScriptedResponse(200, body: [0xFF, 0xFE, 0])))
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--json"])
        let summary = try #require(try run.jsonLines().last)
        #expect(summary["bodyBase64"] as? String == "//4A")
        #expect(summary["body"] == nil)
    }

    @Test func `-v prints events, -q prints nothing`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
        let verbose = try await Tool.run(["post", server.url(), "-F", "a=b", "-v"])
        for fact in [
            "phase=connecting", "phase=sending", "status=200", "to 127.0.0.1 port \(server.port)", "first byte",
        ] {
            #expect(verbose.errorText.contains(fact), "\(verbose.errorText)")
        }
        let silent = try await Tool.run(["post", server.url(), "-F", "a=b", "-q"])
        #expect(silent.errorText.isEmpty && silent.text == "ok")
    }

    @Test func `header files, --resolve, a proxy and a rate limit are applied`() async throws {
        let folder = try TemporaryDirectory()
        let headers = try folder.write("h", "X-A: 1\r\n\r\nAuthorization: Bearer t0k3n\n")
        let server = try LoopbackServer()
        let run = try await Tool.run([
            "post", "http://backend.invalid:\(server.port)/r", "-F", "a=b", "-H", "@\(headers)", "--resolve",
            "backend.invalid:\(server.port):127.0.0.1", "--limit-rate", "1M", "-m", "20", "--connect-timeout", "5",
            "-H", "Expect:", "-H", "User-Agent:",
        ])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let request = try await server.request(0)
        #expect(request.value(of: "Authorization") == "Bearer t0k3n")
        #expect(request.value(of: "Host") == "backend.invalid:\(server.port)")
        #expect(request.value(of: "User-Agent") == nil)
        // NO_PROXY of the environment does not apply to a proxy given with -x.
        let proxied = try await Tool.run(
            ["post", "http://elsewhere.invalid/p", "-F", "a=b", "-x", server.url("")],
            environment: ["NO_PROXY": "*", "no_proxy": "elsewhere.invalid"])
        #expect(proxied.exit == .status(0), "\(proxied.errorText)")
        #expect(try await server.request(1).target == "http://elsewhere.invalid/p")
    }
}
