public import WaybillCore

/// Whether a stream that can be iterated only once can be sent more than once.
public enum StreamReplay: Sendable, Hashable {
    /// The stream is not sent again: a failure after its first byte is not retried.
    case never
    /// The stream can be sent again: its bytes are also written to a temporary file without a name. A second attempt
    /// repeats them from the file before it continues the stream. Takes as much disk space as the stream has bytes.
    case fromCopy
}

/// The handling of a stream whose length is unknown.
public struct UnknownLength: Sendable, Hashable {
    enum Choice: Sendable, Hashable {
        case spill(threshold: Int64)
        case chunked
        case fail
    }

    let choice: Choice

    /// ``spill(threshold:)`` at 1 MiB.
    public static let spill = spill(threshold: .mebibytes(1))

    /// Reads the stream to its end before anything is sent: up to `threshold` bytes into memory; a longer stream is
    /// written to a temporary file entirely.
    ///
    /// The length is then known, and the body can be sent again. The file has no name, so no other process can open it,
    /// and it disappears however the process ends.
    public static func spill(threshold: ByteCount) -> UnknownLength {
        UnknownLength(choice: .spill(threshold: max(0, threshold.bytes)))
    }

    /// Sends the stream as it arrives, and the body with `Transfer-Encoding: chunked` instead of a length (RFC 9112
    /// section 7.1). Many servers reject this with 411, or treat it as an empty form.
    public static let chunked = UnknownLength(choice: .chunked)

    /// ``MultipartForm/prepared(boundary:)`` throws ``BodyError/Code/unknownLength``.
    public static let fail = UnknownLength(choice: .fail)
}
