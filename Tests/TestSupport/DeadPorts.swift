internal import CTestSupport
internal import WaybillCore

/// A port of 127.0.0.1 without a listener: connections are refused immediately.
///
/// The port stays bound during the lifetime of the value, so that no other process can listen on it.
package final class ClosedPort: Sendable {
    package let port: Int
    private let socket: Int32

    package init() throws {
        var port: UInt16 = 0
        socket = unsafe cts_bind(&port)
        guard socket >= 0 else { throw SystemCallFailure(call: "bind", code: -socket) }
        self.port = Int(port)
    }

    deinit { cts_close(socket) }

    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// A port of 127.0.0.1 where connections neither succeed nor fail: the listener's queue is full, so the kernel drops
/// the SYN.
package final class UnresponsivePort: Sendable {
    package let port: Int
    private let listener: Int32
    private let fillers: [Int32]

    package init() throws {
        var port: UInt16 = 0
        listener = unsafe cts_listen(0, 0, &port)
        guard listener >= 0 else { throw SystemCallFailure(call: "listen", code: -listener) }
        self.port = Int(port)
        // A backlog of 0 holds one connection, or two on some kernels. Further connections hang like those of the
        // client.
        fillers = (0..<4).map { _ in cts_connect(port, 0) }
        for filler in fillers where filler < 0 { throw SystemCallFailure(call: "connect", code: -filler) }
    }

    deinit {
        for filler in fillers where filler >= 0 { cts_close(filler) }
        if listener >= 0 { cts_close(listener) }
    }

    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }
}
