/// Computes the minimum number of body bytes sent over TLS, from the kernel's counters and without side effects.
///
/// libcurl counts bytes as sent when OpenSSL has accepted the whole piece that it was given. On a slow connection that
/// may take half a minute, during which libcurl's count does not change and the transfer looks stalled. The kernel's
/// count grows with each record. Whenever libcurl asks for the next piece, all or almost all before it has been
/// written, and the two counts are aligned. From then on, the kernel's count, less the maximum overhead of the records,
/// is the number of bytes sent.
struct TLSByteCounter {
    private var body: Int64 = 0
    private var written: UInt64?
    private var maximum: Int64 = 0

    /// The maximum size of a record in bytes (RFC 8446, 5.1).
    static let maxRecordSize = 16 << 10
    /// The maximum overhead of a record: header, nonce, padding and authentication code of the largest cipher suites,
    /// twice for a proxy with TLS, and the framing of a chunk.
    private static let overhead: Int64 = 256

    /// Aligns the counts: `body` bytes of the body were sent when the kernel had accepted at most `written` bytes.
    mutating func align(body: Int64, writtenAtMost written: UInt64) {
        (self.body, self.written) = (body, written)
        maximum = max(maximum, body)
    }

    /// Returns the minimum number of body bytes sent, which never decreases, if the kernel has accepted at least `now`
    /// bytes.
    mutating func bytesSent(writtenAtLeast now: UInt64) -> Int64 {
        guard let written, now > written else { return maximum }
        let newlyWritten = Int64(clamping: now - written)
        maximum = max(maximum, body + newlyWritten - (newlyWritten / Int64(Self.maxRecordSize) + 1) * Self.overhead)
        return maximum
    }
}
