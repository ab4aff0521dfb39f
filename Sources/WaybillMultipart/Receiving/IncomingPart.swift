public import WaybillCore

/// A part of a form that is being received: its headers, and its content as it arrives.
///
/// Names come from the sender. Never use ``fileName`` as a path; ``collect(to:naming:)`` creates safe names.
public struct IncomingPart: Sendable {
    /// The parsed headers.
    public let head: MultipartPartHead
    let source: PartSource
    let number: Int

    /// The field name.
    public var name: String { head.name }
    /// The file name, or `nil` for a part that is not a file.
    public var fileName: String? { head.fileName }
    /// The content type, as sent.
    public var contentType: String? { head.contentType }

    /// The content in chunks of 1 byte to 32 KiB, read once and on demand: a second loop continues where the first one
    /// ended. Throws ``BodyError/Code/partPassed`` if the form has advanced to a later part.
    ///
    /// It can be forwarded while it arrives, as a part of another form:
    ///
    /// ```swift
    /// let form: MultipartForm = [.stream("FILE", part.chunks, length: nil, fileName: part.fileName)]
    /// ```
    public var chunks: AsyncValues<[UInt8], BodyError> {
        AsyncValues { { () async throws(BodyError) in try await source.nextChunk(of: self) } }
    }

    /// Returns the whole content. Use this for content that is known to be small.
    ///
    /// - Throws: ``BodyError``; ``BodyError/Code/fieldTooLarge`` for more than `limit`.
    public func bytes(atMost limit: ByteCount = .mebibytes(1)) async throws(BodyError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await source.nextChunk(of: self) {
            guard Int64(bytes.count + chunk.count) <= limit.bytes else {
                throw BodyError(
                    .fieldTooLarge,
                    "The part \(quoted(name)) exceeds \(limit.bytes) bytes. Collect it to a file.",
                    part: name)
            }
            bytes += chunk
        }
        return bytes
    }

    /// Returns the whole content as UTF-8 text; invalid bytes are replaced.
    ///
    /// - Throws: ``BodyError``; ``BodyError/Code/fieldTooLarge`` for more than `limit`.
    public func text(atMost limit: ByteCount = .mebibytes(1)) async throws(BodyError) -> String {
        String(decoding: try await bytes(atMost: limit), as: UTF8.self)
    }
}
