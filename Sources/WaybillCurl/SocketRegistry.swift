import CWaybillCurl
import Glibc

/// The two endpoints of a connection, as libcurl prints them.
struct ConnectionEndpoints: Hashable {
    var localAddress: String
    var localPort: Int32
    var peerAddress: String
    var peerPort: Int32
}

/// The open sockets and the transfer that uses each of them. Used only on the engine's thread.
///
/// libcurl 7.88 does not report the socket of a running transfer (`CURLINFO_ACTIVESOCKET` returns the previous one).
/// But it reports the endpoints of the connection, and calls back for every socket when it is opened and closed.
final class SocketRegistry {
    private var unclaimed: Set<Int32> = []
    private var endpoints: [Int32: ConnectionEndpoints] = [:]
    private var sockets: [ConnectionEndpoints: Int32] = [:]
    private var owners: [Int32: CurlTransfer] = [:]
    /// The most recently claimed connection, which is usually the next one to be claimed.
    private var last: (endpoints: ConnectionEndpoints, socket: Int32)?

    /// All open sockets.
    var all: [Int32] { Array(unclaimed) + endpoints.keys }

    func open(_ socket: Int32) {
        // Otherwise a child process would keep a cancelled upload's connection open, and the kernel would continue to
        // send.
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        unclaimed.insert(socket)
    }

    /// Assigns the connection between these endpoints to a transfer. The previous transfer takes its last sample.
    func claim(_ endpoints: ConnectionEndpoints, for transfer: CurlTransfer) -> SocketProbe? {
        guard let socket = last?.endpoints == endpoints ? last?.socket : sockets[endpoints] ?? find(endpoints) else {
            return nil
        }
        last = (endpoints, socket)
        // libcurl may fetch a challenge on one connection and respond to it on another.
        if let before = transfer.probe?.socket, before != socket { forget(transfer, on: before) }
        owners.updateValue(transfer, forKey: socket)?.socketWillClose()
        return SocketProbe(socket: socket)
    }

    /// Removes an ended transfer from its socket, without a last sample.
    func forget(_ transfer: CurlTransfer, on socket: Int32) {
        if owners[socket] === transfer { owners[socket] = nil }
    }

    /// Closes a socket after its transfer has taken the last sample.
    func close(_ socket: Int32) -> Int32 {
        owners.removeValue(forKey: socket)?.socketWillClose()
        if last?.socket == socket { last = nil }
        if let endpoints = endpoints.removeValue(forKey: socket) { sockets[endpoints] = nil }
        unclaimed.remove(socket)
        return Glibc.close(socket)
    }

    private func find(_ wanted: ConnectionEndpoints) -> Int32? {
        let match = unclaimed.first { socket in
            unsafe wb_socket_connects(
                socket, wanted.localAddress, wanted.localPort, wanted.peerAddress, wanted.peerPort) != 0
        }
        guard let match else { return nil }
        unclaimed.remove(match)
        endpoints[match] = wanted
        sockets[wanted] = match
        return match
    }
}
