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

        /// Bytes written at least, whether acknowledged or not: those that are acknowledged while it is looked are missing.
        var written: UInt64 { acknowledged + pending }
    }

    /// `nil` once it was let go.
    private(set) var socket: Int32?
    private let base: UInt64
    private var last: Sample?
    private var isHolding = false

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

    /// How many bytes of this transfer, head included, were written at most: those that are acknowledged while it is looked
    /// count twice. `nil` when the kernel did not say.
    var writtenAtMost: UInt64? {
        guard let socket else { return nil }
        var acknowledged: UInt64 = 0
        var pending: UInt64 = 0
        guard unsafe wb_tcp_state_reversed(socket, &acknowledged, &pending) == 0 else { return nil }
        return acknowledged - min(base, acknowledged) + pending
    }

    /// Whether the peer sent something that was not read yet, or closed.
    var hasInput: Bool {
        guard let socket else { return false }
        return wb_has_input(socket) != 0
    }

    /// Has the kernel wait with what is less than a segment, or no longer.
    mutating func holdSegments(_ isOn: Bool) {
        guard let socket, isHolding != isOn else { return }
        isHolding = isOn
        wb_hold_segments(socket, isOn ? 1 : 0)
    }

    /// Takes the last look.
    mutating func letGo() {
        _ = sample()
        holdSegments(false)
        socket = nil
    }
}
