import WaybillCore

/// A stream as the content of a part, as passed by the caller.
package struct PartStream: Sendable {
    let origin: StreamOrigin
    let length: Int64?
    let replay: StreamReplay

    func checkLength(at location: PartLocation) throws(BodyError) {
        guard let length, length < 0 else { return }
        throw BodyError(
            .unknownLength, "Invalid stream length \(length). The length must not be negative.", at: location)
    }
}

extension MultipartPart {
    /// A part with the chunks of a stream, read no faster than they are sent.
    ///
    /// ```swift
    /// .stream("log", process.output, length: nil, fileName: "run.log")           // read first: see unknownLength
    /// .stream("video", camera.chunks, length: 48_213_004, fileName: "a.mp4")     // sent as it comes
    /// ```
    ///
    /// `length` is the exact number of bytes. A stream that yields more or fewer bytes fails the upload with
    /// ``BodyError/Code/tooManyBytes`` or ``BodyError/Code/tooFewBytes``, and a stream that throws with
    /// ``BodyError/Code/streamFailed``; the closing boundary is never sent. If `length` is `nil`,
    /// ``MultipartForm/unknownLength`` determines how the stream is sent.
    ///
    /// A sequence can be iterated only once, so a form that contains one is sent once and not retried, unless `replay`
    /// is ``StreamReplay/fromCopy``. If the sequence can be created again, use
    /// ``stream(_:length:fileName:contentType:making:)``.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ name: String, _ chunks: Chunks, length: Int64?, fileName: String? = nil, contentType: String? = nil,
        replay: StreamReplay = .never
    ) -> MultipartPart where Chunks.Element: Sequence<UInt8> {
        MultipartPart(
            name, fileName: fileName, contentType: contentType,
            content: .stream(PartStream(origin: StreamOrigin(chunks), length: length, replay: replay)))
    }

    /// A part with the chunks of a stream that is created anew for each attempt, so that it can be sent again.
    ///
    /// ```swift
    /// .stream("backup", length: size, fileName: "db.zst") { try await database.export() }
    /// ```
    ///
    /// Every sequence must yield the same bytes. An error thrown by the closure fails the upload with
    /// ``BodyError/Code/streamFailed``.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ name: String, length: Int64?, fileName: String? = nil, contentType: String? = nil,
        making make: @escaping @Sendable () async throws -> Chunks
    ) -> MultipartPart where Chunks.Element: Sequence<UInt8> {
        MultipartPart(
            name, fileName: fileName, contentType: contentType,
            content: .stream(PartStream(origin: StreamOrigin(making: make), length: length, replay: .never)))
    }
}
