internal import CTestSupport
internal import Glibc
internal import WaybillCore

/// A proxy from a port of 127.0.0.1 to a Unix socket that ends connections after a number of bytes.
///
/// It moves bytes in one direction at a time, so it is not for exchanges that fill the buffers of both directions.
package final class CuttingProxy: Sendable {
    /// The place at which each new connection is cut.
    package enum Cut: Sendable, Hashable {
        case never
        /// After bytes from the server to the client.
        case response(Int)
        /// After bytes from the client to the server.
        case request(Int)
    }

    /// What the proxy has done.
    package struct Counts: Sendable, Equatable {
        package var accepted = 0
        /// Connections that both ends have closed.
        package var ended = 0
        package var responseBytes = 0
        package var requestBytes = 0
    }

    package let port: Int
    package let counts = Watched(Counts())
    private let listener: Int32
    private let stop: Int32
    private let cut = Watched(Cut.never)

    /// Starts a proxy.
    ///
    /// - Parameter socket: The path of the server's socket.
    /// - Throws: ``SystemCallFailure`` if no port is free.
    package init(to socket: String) throws {
        var port: UInt16 = 0
        listener = unsafe cts_listen(0, 64, &port)
        stop = cts_event_make()
        guard listener >= 0, stop >= 0 else { throw SystemCallFailure(call: "listen", code: errno) }
        self.port = Int(port)
        let (listener, stop, counts, cut) = (listener, stop, counts, cut)
        ServerThread {
            while cts_wait(listener, CInt(cts_readable), -1, stop, -1) & CInt(cts_stopped) == 0 {
                let client = cts_accept(listener)
                guard client >= 0 else { continue }
                let place = cut.value
                counts.update { $0.accepted += 1 }
                ServerThread { Self.forward(client, socket, place, stop, counts) }.detach()
            }
            cts_close(listener)
        }.detach()
    }

    // The event stays open: the threads of connections may still wait for it.
    deinit { cts_event_raise(stop) }

    /// Sets the place at which further connections are cut.
    package func cut(_ place: Cut) { cut.update { $0 = place } }

    private static func forward(
        _ client: Int32, _ target: String, _ cut: Cut, _ stop: Int32, _ counts: Watched<Counts>
    ) {
        let server = connect(target)
        var (left, isRequest) = (Int.max, false)
        switch cut {
        case .never: break
        case .response(let count): left = count
        case .request(let count): (left, isRequest) = (count, true)
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        /// Moves what has arrived. Returns whether the connection is to continue.
        func move(_ from: Int32, _ to: Int32, isRequest direction: Bool) -> Bool {
            let room = direction == isRequest ? min(left, buffer.count) : buffer.count
            let count = unsafe cts_receive(from, &buffer, room)
            guard count > 0 else { return count == -Int(EAGAIN) }
            var sent = 0
            while sent < count {
                let moved = unsafe buffer.withUnsafeBytes { unsafe cts_send(to, $0.baseAddress! + sent, count - sent) }
                if moved >= 0 { sent += moved } else if moved != -Int(EAGAIN) { return false }
                if moved == -Int(EAGAIN), cts_wait(to, CInt(cts_writable), -1, stop, -1) & CInt(cts_stopped) != 0 {
                    return false
                }
            }
            counts.update { if direction { $0.requestBytes += count } else { $0.responseBytes += count } }
            if direction == isRequest { left -= count }
            return left > 0
        }
        var sockets = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
        ]
        while left > 0, unsafe poll(&sockets, 3, -1) > 0, sockets[2].revents == 0 {
            if sockets[0].revents != 0, !move(client, server, isRequest: true) { break }
            if sockets[1].revents != 0, !move(server, client, isRequest: false) { break }
        }
        close(server)
        // The end of the client's side shows that the client has closed its descriptor.
        _ = cts_finish(client)
        while cts_wait(client, CInt(cts_readable), -1, stop, -1) & CInt(cts_stopped) == 0 {
            let count = unsafe cts_receive(client, &buffer, buffer.count)
            if count <= 0, count != -Int(EAGAIN) { break }
        }
        cts_close(client)
        counts.update { $0.ended += 1 }
    }

    private static func connect(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        _ = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return descriptor
    }
}
