import WaybillCore

/// A stream as the content of a part, as the user gave it.
package struct PartStream: Sendable {
    let origin: StreamOrigin
    let length: Int64?
    let replay: StreamReplay

    func checkLength(at place: PartPlace) throws(BodyError) {
        guard let length, length < 0 else { return }
        throw BodyError(.unknownLength, "a stream can't have \(length) bytes.", at: place)
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
    /// `length` is the exact number of bytes. A stream that gives more or fewer fails the upload with
    /// ``BodyError/Code/tooManyBytes`` or ``BodyError/Code/tooFewBytes``, one that throws with
    /// ``BodyError/Code/streamFailed``; the closing boundary never leaves. With `nil`, ``MultipartForm/unknownLength``
    /// says what becomes of it.
    ///
    /// A sequence can be walked through once, so a form with one is sent once and not tried again, unless `replay` is
    /// ``StreamReplay/fromCopy``. To be able to make the sequence again, use
    /// ``stream(_:length:fileName:contentType:making:)``.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ name: String, _ chunks: Chunks, length: Int64?, fileName: String? = nil, contentType: String? = nil,
        replay: StreamReplay = .never
    ) -> MultipartPart where Chunks.Element: Sequence<UInt8> {
        MultipartPart(
            name, fileName: fileName, contentType: contentType,
            content: .stream(PartStream(origin: StreamOrigin(chunks), length: length, replay: replay)))
    }

    /// A part with the chunks of a stream that is made anew for each attempt, and so can be sent again.
    ///
    /// ```swift
    /// .stream("backup", length: size, fileName: "db.zst") { try await database.export() }
    /// ```
    ///
    /// Every sequence has to give the same bytes. What the closure throws fails the upload with
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
