import TestSupport
import Testing
import WaybillCore

/// `--redirect`, and the output for a redirect that is not followed.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct PostRedirectTests {
    /// Returns a server that redirects `/old` to `/new` with 302.
    private func server() throws -> LoopbackServer {
        let server = try LoopbackServer(otherwise: .respond(200, body: "here"))
        server.route("/old", .respond(302, headers: [("Location", "new?key=s3cr3t")], body: "there"))
        return server
    }

    @Test(arguments: [
        ([] as [String], 1, ["POST"], "there"), (["--redirect", "resend"], 0, ["POST", "POST"], "here"),
        (["--redirect", "get"], 0, ["POST", "GET"], "here"), (["--redirect=stop"], 1, ["POST"], "there"),
    ])
    func `--redirect decides what follows a 302`(
        _ flags: [String], _ exit: Int, _ methods: [String], _ text: String
    ) async throws {
        let server = try server()
        let run = try await Tool.run(["post", server.url("/old"), "-F", "a=b"] + flags)
        #expect(run.exit == .status(exit) && run.text == text, "\(run.errorText)")
        #expect(server.requests.map(\.method) == methods)
    }

    @Test func `--redirect stop does not follow a 307 either`() async throws {
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", "/new")]))
        let run = try await Tool.run(["post", server.url("/old"), "-F", "a=b", "--redirect", "stop"])
        #expect(run.exit == .status(1) && server.requests.count == 1)
        let advice = "a redirect to \(server.url("/new")). Redirects are not followed."
        #expect(run.errorText.contains(advice), "\(run.errorText)")
    }

    @Test func `an ambiguous redirect prints the redacted address and the flags`()
        async throws
    {
        let server = try server()
        let run = try await Tool.run(["post", server.url("/old?token=s3cr3t"), "-F", "a=b", "--json"])
        let address = "\(server.url("/new"))?<redacted>"
        let message = "The server responded with 302, a redirect to \(address). It is ambiguous"
        #expect(run.errorText.contains("redirectWouldDropBody: \(message)"), "\(run.errorText)")
        #expect(run.errorText.contains("use --redirect resend or --redirect get."))
        #expect(!run.errorText.contains("s3cr3t"))
        let summary = try #require(try run.jsonLines().last)
        #expect(summary["status"] as? Int == 302 && summary["body"] as? String == "there")
    }

    @Test(
        arguments: [
            ("http://other.invalid/a?b=s3cr3t", "http://other.invalid/a?<redacted>"), ("ftp://other.invalid/", nil),
            ("/again", nil),
        ] as [(String, String?)])
    func `a refused redirect prints the address`(_ location: String, _ address: String?) async throws {
        let server = try LoopbackServer(otherwise: .respond(307, headers: [("Location", location)]))
        let front = try await TLSFront(to: server)
        let run = try await Tool.run(["post", front.url("/again"), "-F", "a=b", "--cacert", front.authority])
        #expect(run.exit == .status(1), "\(run.errorText)")
        let shown = address ?? (location.hasPrefix("/") ? front.url(location) : location)
        #expect(run.errorText.contains("a redirect to \(shown)"), "\(run.errorText)")
        #expect(!run.errorText.contains("s3cr3t"))
    }

    @Test func `a presigned URL accepts --redirect, a store does not`() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("a.txt", "text")
        let server = try server()
        let run = try await Tool.run(["put", file, server.url("/old?signature=1"), "--redirect", "resend"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(server.requests.map(\.method) == ["PUT", "PUT"])
        for option in [["--redirect", "get"], ["--location-trusted"]] {
            let store = try await Tool.run(["put", file, "oss://cards/a", "--region", "cn-hangzhou"] + option)
            #expect(store.exit == .status(2) && store.errorText.contains("does not apply to OSS"), "\(store)")
        }
    }

    @Test(arguments: [[], ["--location-trusted"]])
    func `a header is sent to another origin only with --location-trusted`(_ option: [String]) async throws {
        let other = try LoopbackServer()
        let home = try LoopbackServer(otherwise: .respond(307, headers: [("Location", other.url())]))
        let run = try await Tool.run(["post", home.url(), "-F", "a=b", "-H", "X-Api-Key: k3y"] + option)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(try await other.request(0).value(of: "X-Api-Key") == (option.isEmpty ? nil : "k3y"))
    }

    @Test func `a queued form follows the --redirect of outbox run`() async throws {
        let fixture = try OutboxFixture()
        fixture.server.route("/form", .respond(302, headers: [("Location", "/new")]))
        let early = try await fixture.queue("-F", "a=b", "--redirect", "resend")
        #expect(early.exit == .status(2) && early.errorText.contains("--redirect"), "\(early.errorText)")
        #expect(try await fixture.queue("-F", "a=b").exit == .status(0))
        let run = try await fixture.deliver("--redirect", "resend")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(fixture.server.requests.map(\.path) == ["/form", "/new"])
    }

    @Test func `an unknown --redirect value is refused with the valid ones`() async throws {
        let server = try server()
        let run = try await Tool.run(["post", server.url(), "-F", "a=b", "--redirect", "follow"])
        #expect(run.exit == .status(2) && run.errorText.contains("must be resend, get or stop"))
        #expect(server.state.connections.isEmpty)
    }
}
