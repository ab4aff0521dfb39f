import WaybillCore

/// Makes a JPEG fit: under a limit in bytes, at a quality, within a number of pixels.
///
/// ```swift
/// let recompressor = JPEGRecompressor(.maxBytes(.kibibytes(100)))
/// let card = try await recompressor.recompress(file: "front.jpg")
/// print(card.report.width, card.report.height, card.bytes.count)      // never more than 102,400 bytes
/// ```
///
/// The picture comes out upright, whatever its Exif orientation said, and carries no metadata: no place, no camera, no
/// thumbnail. It is never enlarged, and a picture that already fits keeps its coefficients.
///
/// **What is read**: grey, YCbCr, RGB and CMYK files of 8 bits with any sampling, baseline, progressive and arithmetic
/// coded; and plain pixels (``JPEGPixels``). Grey and YCbCr 4:2:0 are written. Colours of profiles that are made of
/// primaries and curves, such as Display P3 and Adobe RGB, are converted to sRGB; other profiles are dropped and named
/// in the report. Inks become colours by the plain formula R = (255 - C)(255 - K) / 255, and so on with M and Y, as no
/// profile of inks is read; where an Adobe segment says so, they are stored upside down.
///
/// **What is tolerated**: anything behind the end of the picture, up to 64 stray bytes between segments
/// (``JPEGReport/strayBytes``), and header values that change no pixel. Missing or damaged picture data is an error,
/// never a grey area. Damage that still decodes, such as a bit that flips one coefficient, can't be told.
///
/// The work runs on threads of its own, as many as there are processors but at most four, so the tasks that wait for it
/// keep no thread of Swift's busy, and pictures beyond that wait without memory of their own. Cancelling the task ends
/// the work within a few rows with ``JPEGError/Code/cancelled``.
///
/// - Complexity: Linear in the pixels: about 0.15 s (`fast`) to 0.35 s (`best`) of one processor for 12 megapixels
///   under 100 KiB, with about 40 MB of memory besides the input; progressive input adds 3 bytes a pixel at 4:2:0.
public struct JPEGRecompressor: Sendable {
    /// What pictures have to become.
    public let options: JPEGOptions

    /// Makes a recompressor. It holds nothing and costs nothing.
    public init(_ options: JPEGOptions) {
        self.options = options
    }

    /// Recompresses a picture: a file in memory, a file by its path, or plain pixels.
    ///
    /// - Returns: The picture and what was done to it.
    /// - Throws: ``JPEGError``: the input is no whole JPEG file, the limit can't be reached, or it was cancelled.
    public func recompress(_ input: JPEGInput) async throws(JPEGError) -> JPEGResult {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try Recompression(input: input, options: options, flag: flag).run()
        }
    }

    /// Recompresses a picture in memory.
    ///
    /// - Parameter bytes: A JPEG file of at most 40 MB.
    /// - Returns: The picture and what was done to it.
    /// - Throws: ``JPEGError``: the bytes are no whole JPEG file, the limit can't be reached, or it was cancelled.
    public func recompress(_ bytes: [UInt8]) async throws(JPEGError) -> JPEGResult {
        try await recompress(.bytes(bytes))
    }

    /// Recompresses a file. The file is only read.
    ///
    /// - Parameter path: A regular file of at most 40 MB; links are followed.
    /// - Returns: The picture and what was done to it.
    /// - Throws: ``JPEGError``, as for bytes, and where the file can't be read.
    public func recompress(file path: String) async throws(JPEGError) -> JPEGResult {
        try await recompress(.file(path))
    }

    /// Recompresses a picture into a file, which appears whole or not at all.
    ///
    /// ```swift
    /// let report = try await recompressor.recompress(.file("front.jpg"), to: "front-small.jpg")
    /// ```
    ///
    /// The file is readable by its owner only. Without `replacing`, a file that is there already is left alone.
    ///
    /// - Returns: What was done to the picture.
    /// - Throws: ``JPEGError``, as for a picture in memory; ``JPEGError/Code/fileExists`` or
    ///   ``JPEGError/Code/fileNotWritable`` about the file.
    public func recompress(
        _ input: JPEGInput, to path: String, replacing: Bool = false
    ) async throws(JPEGError) -> JPEGReport {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try PhotoFile.check(path, replaces: replacing)
            let result = try Recompression(input: input, options: options, flag: flag).run()
            try flag.check()
            try PhotoFile.write(result.bytes, to: path, replaces: replacing)
            return result.report
        }
    }

    /// Measures what a picture looks like under several limits: the points of a curve of quality over size.
    ///
    /// ```swift
    /// let points = try await recompressor.curve(of: .file("front.jpg"), limits: [.kibibytes(20), .kibibytes(100)])
    /// ```
    ///
    /// All other options are this recompressor's. A limit that can't be reached gives no point.
    ///
    /// - Throws: ``JPEGError`` where the picture can't be decoded at all, or when it was cancelled.
    /// - Complexity: A recompression for each limit, and about as long as one more.
    public func curve(of input: JPEGInput, limits: [ByteCount]) async throws(JPEGError) -> [JPEGCurvePoint] {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try CurveMeasurement(input: input, options: options, flag: flag).run(limits)
        }
    }
}
