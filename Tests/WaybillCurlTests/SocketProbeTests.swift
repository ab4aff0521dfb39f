import Glibc
import TestSupport
import Testing

@testable import WaybillCurl

@Suite struct SocketProbeTests {
    @Test func `lower and upper bounds of written bytes are equal while idle`() throws {
        let server = try LoopbackServer()
        let connection = try LoopbackConnection(to: server.port)
        var probe = SocketProbe(socket: connection.socket)
        #expect(probe.writtenAtMost == 0)
        let text = "POST / HTTP/1.1\r\n"
        #expect(unsafe send(connection.socket, text, text.utf8.count, 0) == text.utf8.count)
        #expect(probe.sample()?.written == UInt64(text.utf8.count))
        #expect(probe.writtenAtMost == UInt64(text.utf8.count))
        probe.release()
        #expect(probe.writtenAtMost == nil)
        #expect(probe.sample()?.written == UInt64(text.utf8.count))
    }
}
