import Glibc

/// A Unix domain socket in the directory of an outbox, with a framed protocol. Calls block: never use it on a thread of
/// Swift's pool.
struct LocalSocket: Sendable {
    let descriptor: Int32

    /// Connects to the process that listens in a directory.
    ///
    /// - Returns: `nil` if no process does.
    static func connect(in directory: String) throws(OutboxError) -> LocalSocket? {
        let descriptor = try make()
        let socket = LocalSocket(descriptor: descriptor)
        // The limit also applies to connecting: a connection in the backlog of a program that does not accept it would
        // wait.
        socket.limitWaits(seconds: 1)
        let code = try unsafe withAddress(in: directory) { address, size in
            unsafe Glibc.connect(descriptor, address, size)
        }
        guard code == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return socket
    }

    /// Listens in a directory. The caller must hold the lock of the outbox: an existing socket file belongs to a
    /// process that no longer exists.
    static func listen(in directory: String) throws(OutboxError) -> LocalSocket {
        let descriptor = try make()
        unsafe unlink("\(directory)/\(name)")
        let code = try unsafe withAddress(in: directory) { address, size in unsafe bind(descriptor, address, size) }
        guard code == 0, Glibc.listen(descriptor, 64) == 0 else {
            let number = errno
            Glibc.close(descriptor)
            throw OutboxError(.directoryUnusable, "Could not create a socket in \(directory): \(errorText(number)).")
        }
        return LocalSocket(descriptor: descriptor)
    }

    /// Accepts a connection of the same user or of root; closes others.
    ///
    /// - Returns: `nil` if the listening socket was shut down.
    func accept() -> LocalSocket? {
        while true {
            let peer = Glibc.accept(descriptor, nil, nil)
            if peer < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno == EMFILE || errno == ENFILE {
                    usleep(50_000)
                    continue
                }
                return nil
            }
            _ = fcntl(peer, F_SETFD, FD_CLOEXEC)
            let socket = LocalSocket(descriptor: peer)
            guard let user = socket.peerUser, user == geteuid() || user == 0 else {
                socket.close()
                continue
            }
            socket.limitWaits(seconds: 60)
            return socket
        }
    }

    /// The user ID of the peer.
    var peerUser: uid_t? { peer?.user }

    /// The process ID of the peer; `nil` for a process that this process cannot see.
    var peerProcess: pid_t? { peer.flatMap { $0.process > 0 ? pid_t($0.process) : nil } }

    /// The first two fields of `SO_PEERCRED`, see unix(7).
    private var peer: (process: UInt32, user: UInt32)? {
        var numbers: (UInt32, UInt32, UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: numbers))
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &numbers, &size) == 0 else { return nil }
        return (numbers.0, numbers.1)
    }

    /// Sends all bytes. Calls `shouldContinue` whenever no byte could be sent within the timeout.
    func send(_ bytes: [UInt8], shouldContinue: () -> Bool = { false }) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count > 0 { sent += count } else if errno != EINTR, errno != EAGAIN || !shouldContinue() { return false }
        }
        return true
    }

    /// Returns the next frame without its length; `nil` at the end of the stream or for an invalid frame. Calls
    /// `shouldContinue` whenever no byte arrived within the timeout.
    func receiveFrame(shouldContinue: () -> Bool = { false }) -> [UInt8]? {
        guard let head = receive(4, shouldContinue) else { return nil }
        let count = head.reduce(0) { $0 << 8 | Int($1) }
        guard count <= Wire.largestFrame else { return nil }
        return receive(count, shouldContinue)
    }

    private func receive(_ count: Int, _ shouldContinue: () -> Bool) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let length = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress! + received, count - received, 0)
            }
            if length > 0 { received += length } else if length == 0 { return nil }
            if length < 0, errno != EINTR, errno != EAGAIN || !shouldContinue() { return nil }
        }
        return bytes
    }

    /// Wakes threads that block in ``accept()`` or a read.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
    func close() { Glibc.close(descriptor) }

    private func limitWaits(seconds: Int) {
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private static let name = "socket"

    private static func make() throws(OutboxError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else {
            throw OutboxError(.storageFailed, "Could not create a socket: \(errorText(errno)).")
        }
        return descriptor
    }

    /// Builds the address via the directory's descriptor, because socket paths are limited to 107 bytes and directory
    /// paths are not.
    private static func withAddress(
        in directory: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(OutboxError) -> Int32 {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OutboxError(.directoryUnusable, "Could not open \(directory): \(errorText(errno)).")
        }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array("/proc/self/fd/\(descriptor)/\(name)".utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        return unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
