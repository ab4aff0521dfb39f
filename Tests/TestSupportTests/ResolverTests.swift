import CTestSupport
import TestSupport
import Testing

/// In the program that runs the tests, libcurl.so must find this getaddrinfo before that of the C library.
@Suite(.timeLimit(.minutes(Slowness.factor)))
struct ResolverTests {
    @Test func `libcurl hangs in a lookup until the name is released`() async throws {
        let name = HangingHostName()
        let fetched = Task { await fetch("http://\(name.host)/", milliseconds: 30_000) }
        await name.waitUntilLookupBegins()
        name.release()
        #expect(await fetched.value == 6)  // CURLE_COULDNT_RESOLVE_HOST
        #expect(TestHost.lookups(of: name.host) >= 1)
    }

    @Test func `libcurl abandons a lookup that hangs`() async throws {
        let name = HangingHostName()
        #expect(await fetch("http://\(name.host)/", milliseconds: 100) == 28)  // CURLE_OPERATION_TIMEDOUT
    }

    @Test func `a loopback name resolves`() async throws {
        let server = try LoopbackServer()
        let host = TestHost.loopback("one")
        #expect(await fetch(server.url(host: host), milliseconds: 10_000) == 0)
        #expect(server.requests.first?.value(of: "Host") == "\(host):\(server.port)")
    }

    @Test func `an absent name fails immediately`() async {
        #expect(await fetch("http://\(TestHost.absent("x"))/", milliseconds: 10_000) == 6)
    }

    @Test func `other names are resolved by the system`() async throws {
        let server = try LoopbackServer()
        #expect(await fetch(server.url(host: "localhost"), milliseconds: 10_000) == 0)
    }

    private func fetch(_ url: String, milliseconds: Int32) async -> Int32 {
        await onOwnThread { unsafe cts_fetch(url, milliseconds) }
    }
}
