public import WaybillCore

/// A part of a form that is being received: what its headers say, and its content as it comes.
///
/// Names come from outside. Never make a path of ``fileName``; ``collect(to:naming:)`` makes names that are safe.
public struct IncomingPart: Sendable {
    /// What its headers say.
    public let head: MultipartPartHead
    let source: PartSource
    let number: Int

    /// The field name.
    public var name: String { head.name }
    /// The file name, or `nil` for a part that is no file.
    public var fileName: String? { head.fileName }
    /// The content type, as sent.
    public var contentType: String? { head.contentType }

    /// The content, chunk by chunk.
    ///
    /// It may go out as it comes in, a part of another form:
    ///
    /// ```swift
    /// let form: MultipartForm = [.stream("FILE", part.chunks, length: nil, fileName: part.fileName)]
    /// ```
    public var chunks: AsyncValues<[UInt8], BodyError> {
        AsyncValues { { () async throws(BodyError) in try await source.nextChunk(of: self) } }
    }

    /// The content as a whole, for what is known to be small.
    ///
    /// - Throws: ``BodyError``; ``BodyError/Code/fieldTooLarge`` for more than `limit`.
    public func bytes(atMost limit: ByteCount = .mebibytes(1)) async throws(BodyError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await source.nextChunk(of: self) {
            guard Int64(bytes.count + chunk.count) <= limit.bytes else {
                throw BodyError(
                    .fieldTooLarge,
                    "The part \(quoted(name)) has more than \(limit.bytes) bytes. Collect it to a file.",
                    part: name)
            }
            bytes += chunk
        }
        return bytes
    }

    /// The content as a text in UTF-8; bytes that are none are replaced.
    ///
    /// - Throws: ``BodyError``; ``BodyError/Code/fieldTooLarge`` for more than `limit`.
    public func text(atMost limit: ByteCount = .mebibytes(1)) async throws(BodyError) -> String {
        String(decoding: try await bytes(atMost: limit), as: UTF8.self)
    }
}
