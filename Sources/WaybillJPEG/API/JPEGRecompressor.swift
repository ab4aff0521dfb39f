import CWaybillJPEG
import WaybillCore

/// Compresses JPEG, PNG and WebP images to JPEG: to a limit in bytes, a quality, or a number of pixels.
///
/// ```swift
/// let recompressor = JPEGRecompressor(.maxBytes(.kibibytes(100)))
/// let card = try await recompressor.recompress(file: "front.jpg")
/// print(card.report.width, card.report.height, card.bytes.count)      // never more than 102,400 bytes
/// ```
///
/// The output is upright, whatever the Exif orientation of the input, and has no metadata: no location, no camera, no
/// thumbnail. Images are never enlarged, and a JPEG image that already fits keeps its coefficients
/// if they need no conversion.
///
/// **Input**: JPEG files with 8 bits per sample: gray, YCbCr, RGB and CMYK with any sampling, with baseline,
/// progressive and arithmetic coding; PNG and WebP files of every kind, if the trait `Images` of the package is
/// enabled; HEIC files, if ``JPEGOptions/heicDecoder`` is set; and uncompressed pixels (``JPEGPixels``). The format is
/// recognized by the first bytes of a file, not by its name. New encodings are gray or YCbCr 4:2:0; kept coefficients
/// keep their sampling. Colors of profiles made of primaries and curves, such as Display P3 and Adobe RGB, are
/// converted to sRGB; other profiles are dropped and named in the report. CMYK is converted with the simple formula R =
/// (255 - C)(255 - K) / 255, and so on with M and Y, because ink profiles are not read; if an Adobe segment is present,
/// the values are interpreted as inverted. With Ghostscript's default ink profile, littlecms makes colors that differ
/// from these by a median of 16 (CIE76, over a grid of inks): less saturated ones. Convert such files to RGB first if
/// colors matter.
///
/// Transparent pixels of PNG and WebP files are composited on white, 16 bits are rounded to 8, only the first frame of
/// an animation is used, on white if it is a part of it, and a gamma value of a PNG file without a profile is applied.
///
/// **Tolerated defects**: data after the end of the image, up to 64 stray bytes, at most 9 of them in any one place
/// after image data (``JPEGReport/strayBytes``), a missing marker at the end (``JPEGReport/isEndMissing``), and header
/// values that do not affect pixels. Missing or damaged image data is an error and never becomes a gray area, unless
/// ``JPEGOptions/FailurePolicy/salvage`` is chosen. Damage of a JPEG or WebP file that still decodes, such as a flipped
/// bit in a coefficient, cannot be detected.
///
/// The work runs on dedicated threads, one per processor but at most four, so that waiting tasks do not occupy Swift's
/// threads, and images beyond that number wait unread. Cancelling the task ends the work within a few rows or, for a
/// WebP file, within half of its decoding, with ``JPEGError/Code/cancelled``.
///
/// - Complexity: Linear in the number of pixels: about 0.15 s (`fast`) to 0.35 s (`best`) of one processor for 12
///   megapixels under 100 KiB, with about 40 MB of memory besides the input. Progressive input adds 3 bytes per pixel
///   at 4:2:0; interlaced PNG input 3 or, with transparency, 4; lossy WebP input 3; other WebP input 7 to 9.
public struct JPEGRecompressor: Sendable {
    /// The options for recompression.
    public let options: JPEGOptions

    /// Creates a recompressor. It holds no resources.
    public init(_ options: JPEGOptions) {
        self.options = options
    }

    /// Recompresses an image: a file in memory, a file at a path, or uncompressed pixels.
    ///
    /// - Returns: The image and a report.
    /// - Throws: ``JPEGError`` for an invalid or incomplete file, an unreachable limit, or a cancelled task.
    public func recompress(_ input: JPEGInput) async throws(JPEGError) -> JPEGResult {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try Recompression(input: input, options: options, flag: flag).run()
        }
    }

    /// Recompresses an image in memory.
    ///
    /// - Parameter bytes: A JPEG, PNG or WebP file of at most 100 MB.
    /// - Returns: The image and a report.
    /// - Throws: ``JPEGError`` for an invalid or incomplete file, an unreachable limit, or a cancelled task.
    public func recompress(_ bytes: [UInt8]) async throws(JPEGError) -> JPEGResult {
        try await recompress(.bytes(bytes))
    }

    /// Recompresses a file. The file is only read.
    ///
    /// - Parameter path: The path of a regular file of at most 100 MB; symbolic links are followed.
    /// - Returns: The image and a report.
    /// - Throws: ``JPEGError``, as for an image in memory, and if the file cannot be read.
    public func recompress(file path: String) async throws(JPEGError) -> JPEGResult {
        try await recompress(.file(path))
    }

    /// Recompresses an image to a file, which appears complete or not at all.
    ///
    /// ```swift
    /// let report = try await recompressor.recompress(.file("front.jpg"), to: "front-small.jpg")
    /// ```
    ///
    /// A new file has the permissions of the original file, or 0666 for other input, without those of the umask; its owner
    /// can always write it. Unless `replacing` is `true`, an existing file is left unchanged. A replaced file keeps its
    /// permissions. A symbolic link is replaced, not followed; a directory, device, pipe or socket is never replaced.
    ///
    /// - Returns: The report.
    /// - Throws: ``JPEGError``, as for an image in memory; ``JPEGError/Code/fileExists``,
    ///   ``JPEGError/Code/notARegularFile`` or ``JPEGError/Code/fileNotWritable`` for the output file.
    public func recompress(
        _ input: JPEGInput, to path: String, replacing: Bool = false
    ) async throws(JPEGError) -> JPEGReport {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try PhotoFile.check(path, replaces: replacing)
            let result = try Recompression(input: input, options: options, flag: flag).run()
            try flag.check()
            let original: String? = if case .file(let path) = input { path } else { nil }
            try PhotoFile.write(result.bytes, to: path, replaces: replacing, mode: .copy(of: original))
            return result.report
        }
    }

    /// Measures the quality of an image under several limits: the points of a curve of quality over size.
    ///
    /// ```swift
    /// let points = try await recompressor.curve(of: .file("front.jpg"), limits: [.kibibytes(20), .kibibytes(100)])
    /// ```
    ///
    /// All other options are those of this recompressor. A limit that cannot be reached yields no point.
    ///
    /// - Throws: ``JPEGError`` if the image cannot be decoded at all, or if the task was cancelled.
    /// - Complexity: One recompression per limit, plus about the time of one more.
    public func curve(of input: JPEGInput, limits: [ByteCount]) async throws(JPEGError) -> [JPEGCurvePoint] {
        let options = options
        return try await WorkerPool.shared.run { flag throws(JPEGError) in
            try CurveMeasurement(input: input, options: options, flag: flag).run(limits)
        }
    }
}

/// The libjpeg-turbo library that this module was built with.
public enum JPEGLibrary {
    /// The version: `2.1.5`.
    public static var version: String { unsafe String(cString: wb_jpeg_library_version()) }
}
