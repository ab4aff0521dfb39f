public import WaybillCore

/// How much a form from outside may ask for. Every limit is on by default; a form that is exactly at a limit passes.
///
/// ```swift
/// var limits = MultipartLimits()
/// limits.total = .mebibytes(20)
/// ```
public struct MultipartLimits: Sendable, Hashable {
    /// Parts in a form. 1,000.
    public var parts = 1_000
    /// Bytes in the header lines of one part, line breaks included, the blank line not. 16 KiB.
    public var headerBytes = 16 * 1_024
    /// Header lines of one part. 32.
    public var headerLines = 32
    /// Parameters in a `Content-Disposition`. 16.
    public var parameters = 16
    /// Bytes before the first boundary. 64 KiB.
    public var preambleBytes = 64 * 1_024
    /// Blanks between a boundary and the end of its line. 128.
    public var paddingBytes = 128
    /// Bytes in a field without a file name, which a program usually collects in memory. 1 MiB.
    public var fieldBytes: ByteCount = .mebibytes(1)
    /// Bytes in a file that ``IncomingPart/collect(to:naming:)`` makes, or `nil` for any number. 64 MiB.
    public var fileBytes: ByteCount? = .mebibytes(64)
    /// Bytes in all files that are collected of one form, or `nil` for any number. 256 MiB.
    public var allFileBytes: ByteCount? = .mebibytes(256)
    /// Bytes in the whole body, or `nil` for any number. Off: what a form may weigh is the server's business.
    public var total: ByteCount?

    /// The defaults.
    public init() {}
}
