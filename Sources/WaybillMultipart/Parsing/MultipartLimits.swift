public import WaybillCore

/// Limits for a form from an untrusted sender. All but ``total`` are set by default; a form at a limit is accepted.
///
/// ```swift
/// var limits = MultipartLimits()
/// limits.total = .mebibytes(20)
/// ```
public struct MultipartLimits: Sendable, Hashable {
    /// The maximum number of parts in a form. 1,000.
    public var parts = 1_000
    /// The maximum number of bytes in the header lines of a part, line breaks included, blank line excluded. 16 KiB.
    public var headerBytes = 16 * 1_024
    /// The maximum number of header lines in one part. 32.
    public var headerLines = 32
    /// The maximum number of parameters in a `Content-Disposition`. 16.
    public var parameters = 16
    /// The maximum number of bytes before the first boundary. 64 KiB.
    public var preambleBytes = 64 * 1_024
    /// The maximum number of whitespace bytes between a boundary and the end of its line. 128.
    public var paddingBytes = 128
    /// The maximum number of bytes in a field without a file name, which a program usually collects in memory. 1 MiB.
    public var fieldBytes: ByteCount = .mebibytes(1)
    /// The maximum bytes in a file collected by ``IncomingPart/collect(to:naming:)``; `nil` is unlimited. 64 MiB.
    public var fileBytes: ByteCount? = .mebibytes(64)
    /// The maximum number of bytes in all collected files of one form, or `nil` for unlimited. 256 MiB.
    public var allFileBytes: ByteCount? = .mebibytes(256)
    /// The maximum number of bytes in the whole body. `nil`, the default, is unlimited: it depends on the server.
    public var total: ByteCount?

    /// Creates limits with the default values.
    public init() {}
}
