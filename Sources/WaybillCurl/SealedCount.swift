/// How many bytes of a body have left inside TLS, at least. Pure; what the kernel counts is handed in.
///
/// libcurl says that bytes were sent when OpenSSL has taken all of the piece that it was given. On a slow line that may take
/// half a minute, in which its count stands still and the transfer looks dead. What the kernel counts moves with each record.
/// So whenever libcurl asks for the next piece, with all before it written, or all but some kilobytes, both counts are levelled;
/// from there on the kernel's tells what left, less the most that records add to it.
struct SealedCount {
    private var body: Int64 = 0
    private var written: UInt64?
    private var most: Int64 = 0

    /// The bytes of a record at most (RFC 8446, 5.1).
    static let record = 16 << 10
    /// What a record has besides, at most: header, nonce, padding and code of authentication of the largest ciphers, twice
    /// where a proxy is spoken to over TLS, too, and the frame of a chunk.
    private static let overhead: Int64 = 256

    /// So much of the body was written when the kernel had been given no more than so much.
    mutating func level(body: Int64, writtenAtMost written: UInt64) {
        (self.body, self.written) = (body, written)
        most = max(most, body)
    }

    /// How much of the body has left at least, now that the kernel was given no less than so much. It never goes back.
    mutating func left(writtenAtLeast now: UInt64) -> Int64 {
        guard let written, now > written else { return most }
        let sealed = Int64(clamping: now - written)
        most = max(most, body + sealed - (sealed / Int64(Self.record) + 1) * Self.overhead)
        return most
    }
}
