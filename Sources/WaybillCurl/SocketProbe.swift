import CWaybillCurl

/// What the kernel knows of the bytes of one transfer on its socket.
///
/// The last look is taken when the socket is about to be closed or handed to another transfer; afterwards nobody
/// could tell any more.
struct SocketProbe {
    /// One look.
    struct Sample: Equatable {
        /// Bytes of this transfer, head included, that the peer acknowledged.
        var acknowledged: UInt64
        /// Bytes written and not acknowledged.
        var pending: UInt64
    }

    /// `nil` once it was let go.
    private(set) var socket: Int32?
    private let base: UInt64
    private var last: Sample?

    /// Begins to watch a socket whose request has not been written yet.
    init(socket: Int32) {
        self.socket = socket
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        base = unsafe wb_tcp_state(socket, &acknowledged, &pending) == 0 ? acknowledged : 0
    }

    /// The state now, or as it was when the socket was let go; `nil` when the kernel did not say.
    mutating func sample() -> Sample? {
        guard let socket else { return last }
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        guard unsafe wb_tcp_state(socket, &acknowledged, &pending) == 0 else { return last }
        last = Sample(acknowledged: acknowledged - min(base, acknowledged), pending: pending)
        return last
    }

    /// Whether the peer sent something, or closed, before it was asked: what would be read next is no answer to this
    /// request.
    var hasUnaskedInput: Bool {
        guard let socket else { return false }
        return wb_has_input(socket) != 0
    }

    /// Has the kernel wait with what is less than a segment, or no longer.
    func holdSegments(_ isOn: Bool) {
        if let socket { wb_hold_segments(socket, isOn ? 1 : 0) }
    }

    /// Takes the last look.
    mutating func letGo() {
        _ = sample()
        socket = nil
    }
}
