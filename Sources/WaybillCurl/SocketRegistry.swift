import CWaybillCurl
import Glibc

/// The two ends of a connection, as libcurl prints them.
struct ConnectionEnds: Hashable {
    var localAddress: String
    var localPort: Int32
    var peerAddress: String
    var peerPort: Int32
}

/// Which sockets are open, and whose request each of them carries. Of the engine's thread only.
///
/// libcurl 7.88 does not say on which socket a running transfer is (`CURLINFO_ACTIVESOCKET` speaks of the one before).
/// But it says which ends the connection has, and every socket passes here when it is made and when it is closed.
final class SocketRegistry {
    private var fresh: Set<Int32> = []
    private var ends: [Int32: ConnectionEnds] = [:]
    private var sockets: [ConnectionEnds: Int32] = [:]
    private var owners: [Int32: CurlTransfer] = [:]
    /// The connection that was claimed last, which is mostly the one that is claimed next.
    private var last: (ends: ConnectionEnds, socket: Int32)?

    func open(_ socket: Int32) {
        // Else a child of this process would keep the connection of a cancelled upload open, and the kernel would go on sending.
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        fresh.insert(socket)
    }

    /// The connection between these ends now carries this transfer; whoever had it before takes a last look.
    func claim(_ ends: ConnectionEnds, for transfer: CurlTransfer) -> SocketProbe? {
        guard let socket = last?.ends == ends ? last?.socket : sockets[ends] ?? find(ends) else { return nil }
        last = (ends, socket)
        // libcurl may ask a challenge's question on one connection and answer it on another.
        if let before = transfer.probe?.socket, before != socket { forget(transfer, on: before) }
        owners.updateValue(transfer, forKey: socket)?.socketWillBeLetGo()
        return SocketProbe(socket: socket)
    }

    /// The transfer is over, and what becomes of its socket is nothing to it.
    func forget(_ transfer: CurlTransfer, on socket: Int32) {
        if owners[socket] === transfer { owners[socket] = nil }
    }

    /// Closes a socket after its transfer had a last look.
    func close(_ socket: Int32) -> Int32 {
        owners.removeValue(forKey: socket)?.socketWillBeLetGo()
        if last?.socket == socket { last = nil }
        if let ends = ends.removeValue(forKey: socket) { sockets[ends] = nil }
        fresh.remove(socket)
        return Glibc.close(socket)
    }

    private func find(_ wanted: ConnectionEnds) -> Int32? {
        let match = fresh.first { socket in
            unsafe wb_socket_joins(
                socket, wanted.localAddress, wanted.localPort, wanted.peerAddress, wanted.peerPort) != 0
        }
        guard let match else { return nil }
        fresh.remove(match)
        ends[match] = wanted
        sockets[wanted] = match
        return match
    }
}
