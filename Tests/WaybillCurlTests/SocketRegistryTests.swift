import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct SocketRegistryTests {
    private func transfer() -> CurlTransfer {
        CurlTransfer(.post("http://h/", PatternBody(1)), sink: Recorder(wantsProgress: false))
    }

    @Test func `a socket is closed in child processes`() throws {
        let server = try LoopbackServer()
        let line = try Line(to: server.port)
        _ = fcntl(line.socket, F_SETFD, 0)
        SocketRegistry().open(line.socket)
        #expect(fcntl(line.socket, F_GETFD) & FD_CLOEXEC != 0)
    }

    /// A challenge's question may go out on one connection and its answer on another, and the first is then somebody else's.
    @Test func `a transfer that changed its connection keeps its view of the new one`() throws {
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
        // And who comes to the new one is told of it.
        second.probe = registry.claim(lines[1].ends, for: second)
        #expect(first.probe?.socket == nil)
    }
}
