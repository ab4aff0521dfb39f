import CWaybillCurl

/// Reads the kernel's counters for one transfer on its socket.
///
/// The last sample is taken when the socket is about to be closed or reused by another transfer; afterwards the
/// counters are no longer available.
struct SocketProbe {
    /// A sample of the counters.
    struct Sample: Equatable {
        /// The number of bytes of this transfer, including the head, that the peer acknowledged.
        var acknowledged: UInt64
        /// The number of bytes written but not acknowledged.
        var pending: UInt64

        /// The minimum number of bytes written. Bytes acknowledged between the two system calls are not included.
        var written: UInt64 { acknowledged + pending }
    }

    /// The socket, or `nil` after it was released.
    private(set) var socket: Int32?
    private let base: UInt64
    private var last: Sample?

    /// Starts to observe a socket before the request is written.
    init(socket: Int32) {
        self.socket = socket
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        base = unsafe wb_tcp_counters(socket, &acknowledged, &pending) == 0 ? acknowledged : 0
    }

    /// Returns the current counters, or the last ones if the socket was released; `nil` if none are known.
    mutating func sample() -> Sample? {
        guard let socket else { return last }
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        guard unsafe wb_tcp_counters(socket, &acknowledged, &pending) == 0 else { return last }
        last = Sample(acknowledged: acknowledged - min(base, acknowledged), pending: pending)
        return last
    }

    /// The maximum number of bytes of this transfer, including the head, that were written; `nil` if the kernel did not
    /// report it. Bytes acknowledged between the two system calls count twice.
    var writtenAtMost: UInt64? {
        guard let socket else { return nil }
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        guard unsafe wb_tcp_counters_reversed(socket, &acknowledged, &pending) == 0 else { return nil }
        return acknowledged - min(base, acknowledged) + pending
    }

    /// Whether the socket has unread input or was closed by the peer.
    var hasInput: Bool {
        guard let socket else { return false }
        return wb_has_input(socket) != 0
    }

    /// Takes the last sample and releases the socket.
    mutating func release() {
        _ = sample()
        socket = nil
    }
}
