internal import CTestSupport
internal import Glibc

/// The server's end of a loopback connection, with waits that stopping the server interrupts.
///
/// It is used by a single thread. It never reads ahead: bytes that the server has not requested stay in the kernel
/// and apply back pressure to the sender.
struct ServerSocket {
    enum Received {
        case bytes([UInt8])
        case peerEnded(ConnectionRecord.PeerEnd)
        case stopped
    }

    enum WaitResult: Equatable {
        case done
        case peerEnded(ConnectionRecord.PeerEnd)
        case stopped
    }

    let descriptor: Int32
    /// Raised when the server stops.
    let stop: Int32

    /// Waits for bytes and reads at most `limit` of them.
    func receive(limit: Int) -> Received {
        unsafe receive(limit: limit) { buffer in
            unsafe cts_receive(descriptor, buffer.baseAddress!, buffer.count)
        }
    }

    /// Reads bytes up to and including the first `terminator`, never more.
    ///
    /// - Returns: `nil` if `limit` bytes arrived without it.
    func receive(through terminator: [UInt8], limit: Int) -> Received? {
        var received: [UInt8] = []
        while received.count < limit {
            let peeked: [UInt8]
            switch unsafe receive(limit: 4_096, { unsafe cts_peek(descriptor, $0.baseAddress!, $0.count) }) {
            case .bytes(let bytes): peeked = bytes
            case let other: return other
            }
            let overlap = min(received.count, terminator.count - 1)
            let window = Array(received.suffix(overlap)) + peeked
            let end = firstIndex(of: terminator, in: window).map { $0 + terminator.count - overlap }
            guard case .bytes(let bytes) = receive(limit: end ?? peeked.count) else { return .stopped }
            received += bytes
            if end != nil { return .bytes(received) }
        }
        return nil
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8]) -> WaitResult {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe cts_send(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
            }
            if count >= 0 {
                sent += count
            } else if count == -Int(EAGAIN) {
                let seen = cts_wait(descriptor, CInt(cts_writable), -1, stop, -1)
                if seen & CInt(cts_stopped) != 0 { return .stopped }
            } else if count != -Int(EINTR) {
                return .peerEnded(.reset)
            }
        }
        return .done
    }

    /// Waits until bytes can be read, or the peer has closed.
    func waitReadable() -> WaitResult {
        let seen = cts_wait(descriptor, CInt(cts_readable), -1, stop, -1)
        return seen & CInt(cts_stopped) != 0 ? .stopped : .done
    }

    /// Waits at a gate, and reports if the peer closes meanwhile.
    func wait(for gate: Gate, onPeerEnd: (ConnectionRecord.PeerEnd) -> Void) -> WaitResult {
        var hasEnded = false
        while true {
            let seen = cts_wait(
                hasEnded ? -1 : descriptor, CInt(cts_hung_up), gate.event, stop, hasEnded ? -1 : Self.watchInterval)
            if seen & CInt(cts_stopped) != 0 { return .stopped }
            if seen & CInt(cts_raised) != 0 { return .done }
            if let end = peerEnd(seen) {
                onPeerEnd(end)
                hasEnded = true
            }
        }
    }

    /// Waits without reading until the peer closes the connection.
    func hold() -> WaitResult {
        while true {
            let seen = cts_wait(descriptor, CInt(cts_hung_up), -1, stop, Self.watchInterval)
            if seen & CInt(cts_stopped) != 0 { return .stopped }
            if let end = peerEnd(seen) { return .peerEnded(end) }
        }
    }

    /// Waits for a duration.
    func pause(_ duration: Duration) -> WaitResult {
        let milliseconds = duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
        let seen = cts_wait(-1, 0, -1, stop, Int32(max(milliseconds, 0)))
        return seen & CInt(cts_stopped) != 0 ? .stopped : .done
    }

    /// Discards incoming bytes until the peer closes the connection.
    func discardUntilPeerEnds() -> WaitResult {
        while true {
            switch receive(limit: 65_536) {
            case .bytes: continue
            case .peerEnded(let end): return .peerEnded(end)
            case .stopped: return .stopped
            }
        }
    }

    /// The interval for checking a connection that is not being read, in milliseconds: the FIN of a peer is queued
    /// behind its data, so poll(2) would never report it.
    private static let watchInterval: Int32 = 20

    private func peerEnd(_ seen: Int32) -> ConnectionRecord.PeerEnd? {
        if seen & CInt(cts_hung_up) != 0 {
            var byte: UInt8 = 0
            let count = unsafe cts_peek(descriptor, &byte, 1)
            return count < 0 && count != -Int(EAGAIN) ? .reset : .finished
        }
        return cts_peer_has_closed(descriptor) == 1 ? .descriptorClosed : nil
    }

    private func receive(limit: Int, _ call: (UnsafeMutableRawBufferPointer) -> Int) -> Received {
        var count = 0
        while true {
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = unsafe call(UnsafeMutableRawBufferPointer(buffer))
                initialized = max(count, 0)
            }
            if count > 0 { return .bytes(bytes) }
            if count == 0 { return .peerEnded(.finished) }
            guard count == -Int(EAGAIN) || count == -Int(EINTR) else { return .peerEnded(.reset) }
            if waitReadable() == .stopped { return .stopped }
        }
    }

    private func firstIndex(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (0...(bytes.count - pattern.count)).first { start in
            bytes[start] == pattern[0] && bytes[start..<(start + pattern.count)].elementsEqual(pattern)
        }
    }
}
