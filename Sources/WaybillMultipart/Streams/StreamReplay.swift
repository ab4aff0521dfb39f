public import WaybillCore

/// Whether a stream that can be walked through once can be sent more than once.
public enum StreamReplay: Sendable, Hashable {
    /// It can't: what fails after its first byte is not tried again.
    case never
    /// It can: what was read is also written to a temporary file without a name, from which a second attempt repeats it
    /// before it reads on where the first one stopped. Costs the disk as many bytes as the stream has.
    case fromCopy
}

/// What becomes of a stream whose number of bytes nobody knows.
public struct UnknownLength: Sendable, Hashable {
    enum Choice: Sendable, Hashable {
        case spill(threshold: Int64)
        case chunked
        case fail
    }

    let choice: Choice

    /// ``spill(threshold:)`` at 1 MiB.
    public static let spill = spill(threshold: .mebibytes(1))

    /// The stream is read to its end before anything is sent: up to so many bytes into memory, and if there are more, all
    /// of them into a temporary file.
    ///
    /// Then the length is known and the body can be sent again. The file has no name, so nobody else can open it and
    /// nothing is left of it whatever happens to the process.
    public static func spill(threshold: ByteCount) -> UnknownLength {
        UnknownLength(choice: .spill(threshold: max(0, threshold.bytes)))
    }

    /// The stream is sent as it comes, and the body with `Transfer-Encoding: chunked` instead of a length (RFC 9112
    /// section 7.1). Many servers refuse that with 411, or take it for an empty form.
    public static let chunked = UnknownLength(choice: .chunked)

    /// ``MultipartForm/prepared(boundary:)`` throws ``BodyError/Code/unknownLength``.
    public static let fail = UnknownLength(choice: .fail)
}
