import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct SocketRegistryTests {
    private func transfer() -> CurlTransfer {
        CurlTransfer(.post("http://h/", PatternBody(1)), sink: Recorder(wantsProgress: false))
    }

    @Test func `a registered socket is closed on exec`() throws {
        let server = try LoopbackServer()
        let line = try Line(to: server.port)
        _ = fcntl(line.socket, F_SETFD, 0)
        SocketRegistry().open(line.socket)
        #expect(fcntl(line.socket, F_GETFD) & FD_CLOEXEC != 0)
    }

    /// The request for a challenge and the authenticated request may use different connections; the first one is then
    /// used by another transfer.
    @Test func `a transfer that changed its connection keeps its probe of the new one`() throws {
        let server = try LoopbackServer()
        let registry = SocketRegistry()
        let lines = try (0..<2).map { _ in try Line(to: server.port) }
        for line in lines { registry.open(line.socket) }
        let (first, second) = (transfer(), transfer())
        first.probe = registry.claim(lines[0].ends, for: first)
        #expect(first.probe?.socket == lines[0].socket)
        first.probe = registry.claim(lines[1].ends, for: first)
        second.probe = registry.claim(lines[0].ends, for: second)
        #expect(first.probe?.socket == lines[1].socket)
        #expect(second.probe?.socket == lines[0].socket)
        // When another transfer claims the connection, the first one loses its probe.
        second.probe = registry.claim(lines[1].ends, for: second)
        #expect(first.probe?.socket == nil)
    }
}
