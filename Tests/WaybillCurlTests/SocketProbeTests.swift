import Glibc
import TestSupport
import Testing

@testable import WaybillCurl

@Suite struct SocketProbeTests {
    /// A connection to the server, which nobody closes before the body returns.
    private func withConnection(_ body: (Int32) throws -> Void) throws {
        let server = try LoopbackServer()
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { _ = close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(server.port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let code = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe connect(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        try #require(code == 0)
        try body(socket)
    }

    private func isHeld(_ socket: Int32) -> Bool {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, &size)
        return value == 1
    }

    @Test func `segments that are held back go when the socket is handed on`() throws {
        try withConnection { socket in
            var probe = SocketProbe(socket: socket)
            probe.holdSegments(true)
            #expect(isHeld(socket))
            probe.letGo()
            #expect(!isHeld(socket))
        }
    }

    @Test func `what was written is the same from either side when nothing moves`() throws {
        try withConnection { socket in
            var probe = SocketProbe(socket: socket)
            #expect(probe.writtenAtMost == 0)
            let text = "POST / HTTP/1.1\r\n"
            #expect(unsafe send(socket, text, text.utf8.count, 0) == text.utf8.count)
            #expect(probe.sample()?.written == UInt64(text.utf8.count))
            #expect(probe.writtenAtMost == UInt64(text.utf8.count))
            probe.letGo()
            #expect(probe.writtenAtMost == nil)
            #expect(probe.sample()?.written == UInt64(text.utf8.count))
        }
    }
}
