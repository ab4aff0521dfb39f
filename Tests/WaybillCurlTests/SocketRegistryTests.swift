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
        let connection = try LoopbackConnection(to: server.port)
        _ = fcntl(connection.socket, F_SETFD, 0)
        SocketRegistry().open(connection.socket)
        #expect(fcntl(connection.socket, F_GETFD) & FD_CLOEXEC != 0)
    }

    /// The request for a challenge and the authenticated request may use different connections; the first one is then
    /// used by another transfer.
    @Test func `a transfer that changed its connection keeps its probe of the new one`() throws {
        let server = try LoopbackServer()
        let registry = SocketRegistry()
        let connections = try (0..<2).map { _ in try LoopbackConnection(to: server.port) }
        for connection in connections { registry.open(connection.socket) }
        let (first, second) = (transfer(), transfer())
        first.probe = registry.claim(connections[0].endpoints, for: first)
        #expect(first.probe?.socket == connections[0].socket)
        first.probe = registry.claim(connections[1].endpoints, for: first)
        second.probe = registry.claim(connections[0].endpoints, for: second)
        #expect(first.probe?.socket == connections[1].socket)
        #expect(second.probe?.socket == connections[0].socket)
        // When another transfer claims the connection, the first one loses its probe.
        second.probe = registry.claim(connections[1].endpoints, for: second)
        #expect(first.probe?.socket == nil)
    }
}
