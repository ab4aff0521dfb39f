import WaybillCore

/// Counts what an ``HTTP1Transfer`` has sent on its connection, and what the peer has acknowledged of it.
///
/// Without TLS, the kernel holds exactly the bytes that were written and not acknowledged. Over TLS, the kernel counts
/// records, from which ``TLSByteCounter`` computes the minimum number of body bytes.
struct SentByteCounter {
    /// The number of body bytes that the kernel has accepted.
    private(set) var body: Int64 = 0
    /// The number of bytes accepted, including heads and the framing of chunks.
    private(set) var all: Int64 = 0
    private var connection: HTTP1Connection?
    /// The connection's ``HTTP1Connection/written`` before the current request.
    private var writtenBefore: Int64 = 0
    /// The probe of an encrypted connection.
    private var probe: SocketProbe?
    private var tls = TLSByteCounter()

    /// Whether the kernel's counters cover the request.
    var hasKernelCounters: Bool { connection?.plainSocket != nil || probe != nil }

    /// Starts to count on a connection.
    mutating func attach(to connection: HTTP1Connection) {
        self.connection = connection
        writtenBefore = connection.written
        probe = nil
    }

    /// Stops to count: the connection will be closed, or used by another request.
    mutating func detach() {
        connection = nil
        probe = nil
    }

    /// Called before a head of the given size is written.
    mutating func begin(headSize: Int) {
        probe = connection?.makeProbe()
        tls = TLSByteCounter()
        tls.align(body: body - Int64(headSize), writtenAtMost: probe?.writtenAtMost ?? 0)
    }

    /// Adds bytes that the kernel has accepted.
    mutating func add(body: Int, total: Int) {
        self.body += Int64(body)
        all += Int64(total)
    }

    /// Called when everything given to the TLS library has been written.
    mutating func align() {
        guard connection?.isEncrypted == true, let written = probe?.writtenAtMost else { return }
        tls.align(body: body, writtenAtMost: written)
    }

    /// Returns the number of body bytes sent, at most `most`, and the number of bytes that the kernel has written but
    /// that are not acknowledged; `nil` if the kernel does not count them.
    mutating func sample(atMost most: Int64) -> (sent: Int64, pending: UInt64)? {
        if let pending = connection?.pending { return (body, pending) }
        guard let sample = probe?.sample() else { return nil }
        return (max(body, min(tls.bytesSent(writtenAtLeast: sample.written), most)), sample.pending)
    }

    /// The number of body bytes acknowledged on a connection without TLS; `nil` if unknown.
    var acknowledgedBody: Int64? { connection?.pending.map { body - Int64(clamping: $0) } }

    /// Whether any byte of the current request is acknowledged. Without a count of the kernel, sent bytes count.
    mutating func hasAcknowledgedBytes() -> Bool {
        if let connection, let pending = connection.pending {
            return connection.written - writtenBefore > Int64(clamping: pending)
        }
        if let sample = probe?.sample() { return sample.acknowledged > 0 }
        return all > 0
    }
}
