import Glibc
import Testing

@testable import WaybillCurl

/// A connection to a local port, with the endpoints that libcurl would report.
final class LoopbackConnection {
    let socket: Int32
    let endpoints: ConnectionEndpoints

    init(to port: Int) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            let end = unsafe bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            let code = unsafe connect(socket, end, size)
            return unsafe code == 0 ? getsockname(socket, end, &size) : code
        }
        endpoints = ConnectionEndpoints(
            localAddress: "127.0.0.1", localPort: Int32(UInt16(bigEndian: address.sin_port)),
            peerAddress: "127.0.0.1", peerPort: Int32(port))
        try #require(code == 0)
    }

    deinit { _ = close(socket) }
}
