import Foundation
import TestSupport
import Testing

/// The options for proxies, TLS and addresses in the built command.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct NetworkOptionTests {
    @Test func `a client certificate, a pin and a Unix socket are taken from the command line`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, wantsClient: true)
        let made = front.certificates
        let pin = try await made.pin(of: .valid)
        let common = ["post", front.url("/up"), "-F", "a=b", "--cacert", front.authority, "--pinnedpubkey", pin]
        let environment = ["WB_PASS": Certificates.passphrase]
        let forms = [
            ["--cert", made.clientCertificate, "--key", made.lockedClientKey, "--pass", "env:WB_PASS"],
            ["-E", made.clientStore, "--cert-type", "p12", "--pass", Certificates.passphrase],
        ]
        for form in forms {
            let run = try await Tool.run(common + form + ["-v"], environment: environment)
            #expect(run.exit == .status(0), "\(run.errorText)")
            #expect(!run.errorText.contains(Certificates.passphrase))
        }
        let without = try await Tool.run(common)
        #expect(without.exit != .status(0))
        let wrong = try await Tool.run(common + ["--cert", made.clientKey])
        #expect(wrong.exit == .status(2), "\(wrong.errorText)")

        let socket = try await SocketFront(to: server)
        let run = try await Tool.run([
            "post", "http://backend.invalid/张 三", "-F", "a=b", "--unix-socket", socket.socket,
        ])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(server.requests.last?.target == "/%E5%BC%A0%20%E4%B8%89")
    }

    @Test func `proxy credentials, exceptions and address families are taken from the command line`()
        async throws
    {
        let server = try LoopbackServer()
        let proxy = try await ForwardProxy(user: "jo", password: "proxy-passw0rd")
        let common = ["post", server.url(), "-F", "a=b", "-x", proxy.url()]
        let through = try await Tool.run(
            common + ["-U", "env:WB_PROXY", "-4", "-v"], environment: ["WB_PROXY": "jo:proxy-passw0rd"])
        #expect(through.exit == .status(0), "\(through.errorText)")
        #expect(!through.errorText.contains("proxy-passw0rd"))
        let around = try await Tool.run(common + ["--noproxy", "localhost, 127.0.0.1"])
        #expect(around.exit == .status(0), "\(around.errorText)")
        #expect(server.requests.map { $0.value(of: "Via") != nil } == [true, false])
    }

    @Test func `proxy variables and the netrc file of the environment are ignored`() async throws {
        let server = try LoopbackServer()
        let home = try TemporaryDirectory()
        try home.write(".netrc", "machine 127.0.0.1 login jo password netrc-passw0rd\n")
        let closed = try ClosedPort()
        let proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].map {
            ($0, "http://127.0.0.1:\(closed.port)")
        }
        let environment = Dictionary(uniqueKeysWithValues: proxies + [("HOME", home.path), ("no_proxy", "")])
        let run = try await Tool.run(["post", server.url(), "-F", "a=b"], environment: environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(server.requests.count == 1 && server.requests.first?.value(of: "Authorization") == nil)
    }

    @Test(arguments: [
        ["-4", "-6"], ["--key", "/k"], ["--pass", "x"], ["--cert", "/nowhere.pem"],
        ["--cert", "/dev/null", "--cert-type", "x"],
        ["-U", "nocolon"], ["-U", "env:WB_NOT_THERE"], ["--pinnedpubkey", "md5//x"],
    ])
    func `invalid TLS and proxy options are refused before any request is sent`(flags: [String]) async throws {
        let server = try LoopbackServer()
        let run = try await Tool.run(["post", server.url(), "-F", "a=b"] + flags)
        #expect(run.exit == .status(2) || run.exit == .status(3), "\(run.errorText)")
        #expect(server.requests.isEmpty)
    }
}
