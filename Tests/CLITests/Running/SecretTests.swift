import Foundation
import TestSupport
import Testing
import WaybillCore

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct SecretTests {
    /// Strings that must never be printed.
    private static let secrets = [
        "t0ken-of-env", "t0ken-of-file", "bearer-t0ken", "user-passw0rd", "proxy-passw0rd", "query-t0ken",
        "url-passw0rd",
        Data("me:user-passw0rd".utf8).base64EncodedString(),
    ]

    private func run(_ url: String, _ folder: TemporaryDirectory, _ more: [String]) async throws
        -> ChildProcess.Finished
    {
        let token = try folder.write("token", "t0ken-of-file\n")
        let headers = try folder.write("headers", "X-Api-Key: bearer-t0ken\n")
        return try await Tool.run(
            [
                "post", url, "-F", "a=env:WB_TOKEN", "-F", "b=<\(token)", "-H", "@\(headers)", "-H",
                "Proxy-Authorization: Bearer bearer-t0ken", "-u", "me:user-passw0rd",
            ] + more, environment: ["WB_TOKEN": "t0ken-of-env"])
    }

    private func expectNoSecret(in run: ChildProcess.Finished) {
        for secret in Self.secrets {
            #expect(!run.text.contains(secret) && !run.errorText.contains(secret), "\(run.text)\n\(run.errorText)")
        }
    }

    @Test(arguments: [["-v"], ["-v", "--json"]]) func `no secret is printed, however an upload ends`(
        _ output: [String]
    ) async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(
            .respond(200, body: "ok"), .respond(403, body: "no"), .closeWithoutResponse(),
            .truncatedResponse("garbage\r\n\r\n"))
        let url = "http://me:url-passw0rd@127.0.0.1:\(server.port)/p?sig=query-t0ken"
        for exit in [0, 1, 6, 6] {
            let run = try await run(url, folder, output)
            #expect(run.exit == .status(exit), "\(run.errorText)")
            expectNoSecret(in: run)
            #expect(run.errorText.contains("phase="))
        }
        let request = try await server.request(0)
        #expect(String(decoding: request.body, as: UTF8.self).contains("t0ken-of-file\n\r\n"))

        let port = try ClosedPort()
        let proxy = "http://p:proxy-passw0rd@127.0.0.1:\(port.port)"
        for more in [["-x", proxy], ["-x", "p:proxy-passw0rd@nohost.invalid:1"], ["-F", "f=@/nonexistent"]] {
            let run = try await run(url, folder, output + more)
            #expect(run.exit != .status(0))
            expectNoSecret(in: run)
        }
    }

    @Test func `a secret is redacted in messages that quote it`() async throws {
        // The file name is the secret, so that every message would quote it.
        let run = try await Tool.run(
            [
                "post", "http://127.0.0.1:9/", "-F", "a=env:WB_TOKEN", "-F", "f=@/nonexistent/t0ken-of-env", "--json",
                "-v",
            ],
            environment: ["WB_TOKEN": "t0ken-of-env"])
        #expect(run.exit == .status(3))
        expectNoSecret(in: run)
        #expect(run.text.contains("<redacted>"))
    }
}
