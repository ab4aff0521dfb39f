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
/// thumbnail. It is never enlarged, and a picture that already fits keeps its coefficients. Grey, YCbCr, RGB and CMYK
/// files are read (CMYK by the plain formula, without a colour profile); grey and YCbCr 4:2:0 are written.
///
/// The work runs on threads of its own, as many as there are processors but at most four, so the tasks that wait for it
/// keep no thread of Swift's busy. Cancelling the task ends the work within a few rows with
/// ``JPEGError/Code/cancelled``.
///
/// - Complexity: Linear in the pixels: about 0.15 s (`fast`) to 0.35 s (`best`) of one processor for 12 megapixels
///   under 100 KiB, with about 45 MB of memory besides the input; progressive input adds 3 bytes a pixel at 4:2:0. At
///   a fixed quality without ``JPEGOptions/maxPixels`` it takes about 8 bytes a pixel.
public struct JPEGRecompressor: Sendable {
    /// What pictures have to become.
    public let options: JPEGOptions

    /// Makes a recompressor. It holds nothing and costs nothing.
    public init(_ options: JPEGOptions) {
        self.options = options
    }

    /// Recompresses a picture in memory.
    ///
    /// - Parameter bytes: A JPEG file of at most 40 MB.
    /// - Returns: The picture and what was done to it.
    /// - Throws: ``JPEGError``: the bytes are no whole JPEG file, the limit can't be reached, or it was cancelled.
    public func recompress(_ bytes: [UInt8]) async throws(JPEGError) -> JPEGResult {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try Recompression(input: bytes, options: options, flag: flag).run()
        }
    }

    /// Recompresses a file. The file is only read.
    ///
    /// - Parameter path: A regular file of at most 40 MB; links are followed.
    /// - Returns: The picture and what was done to it.
    /// - Throws: ``JPEGError``, as for bytes, and where the file can't be read.
    public func recompress(file path: String) async throws(JPEGError) -> JPEGResult {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            let bytes = try SourceFile.read(path, upTo: JPEGBounds.inputBytes)
            return try Recompression(input: bytes, options: options, flag: flag).run()
        }
    }
}
