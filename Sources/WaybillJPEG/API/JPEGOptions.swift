public import WaybillCore

/// Options for recompressing an image.
///
/// ```swift
/// let card = JPEGOptions.maxBytes(.kibibytes(100))             // the best image in 102,400 bytes
/// let thumbnail = JPEGOptions(quality: 60, maxPixels: 640 * 480)
/// ```
///
/// With ``maxBytes``, the size in pixels and the quantization are chosen together for the best quality per byte. With
/// ``quality`` only, the size in pixels is kept, up to ``maxPixels`` and ``maxSide``, unless a JPEG file would grow in
/// bytes. With both, the quality is an upper bound for new encodings. With neither, the image is rewritten losslessly;
/// if that is not possible, or if it must shrink for ``maxPixels`` or ``maxSide``, quality 90 is used.
public struct JPEGOptions: Sendable, Hashable {
    /// The amount of work spent on quality.
    public enum Mode: Sendable, Hashable, CaseIterable {
        /// The least work: about 0.1 seconds for a photo of 12 megapixels.
        case draft
        /// One size in pixels, well encoded; several for a page of text, and for an image of less than 3.2 megapixels
        /// (at 100 KiB).
        case fast
        /// Several sizes are tried and the most faithful result is kept; about twice the work of ``fast``.
        case best
    }

    /// The handling of an image that cannot be decoded or made to fit.
    public enum FailurePolicy: Sendable, Hashable, CaseIterable {
        /// An error is thrown.
        case fail
        /// A JPEG file that is within the limits is passed on unchanged except for its metadata; the report contains
        /// the reason. Its pixels are not rotated, so an orientation remains as the only Exif entry, and its colors are
        /// not converted. An incomplete JPEG file and a file that exceeds a limit still throw an error.
        case sendOriginal
        /// A sequential JPEG file whose image data ends early or is damaged is compressed as far as it can be decoded.
        /// The rest is gray or distorted; ``JPEGReport/damagedFraction`` says how much that may be. An image without an
        /// intact row, a damaged progressive JPEG file and other formats still throw an error.
        case salvage
    }

    /// The maximum size in bytes, which is never exceeded. `nil`: no limit.
    public var maxBytes: ByteCount?
    /// Quality 1 (coarse) to 100 (fine) on libjpeg's scale; the maximum with ``maxBytes``. `nil`: as fine as fits.
    public var quality: Int?
    /// The maximum number of pixels, width times height. Images are never enlarged. `nil`: no limit.
    public var maxPixels: Int?
    /// The maximum number of pixels of the longer side. Images are never enlarged. `nil`: no limit.
    public var maxSide: Int?
    /// The minimum number of pixels of the longer side to which an image is scaled down for ``maxBytes``. If the limit
    /// cannot be reached at that size, ``JPEGError/Code/cannotReachLimit`` is thrown. Images are never enlarged. `nil`:
    /// 32.
    ///
    /// ```swift
    /// let card = JPEGOptions(maxBytes: .kibibytes(100), minSide: 1_000)      // small print stays legible, or it fails
    /// ```
    public var minSide: Int?
    /// The amount of work. `best` by default.
    public var mode: Mode
    /// Whether the image is a page of text, even if it does not look like one. `false` by default.
    ///
    /// A page is scaled down in approximately linear light, which keeps thin strokes dark, and keeps more pixels, at the
    /// expense of smooth areas. With ``maxBytes``, a scanned or rendered page is recognized and treated like this
    /// without the option: at least three quarters of it are paper of one brightness, blank or with text. A photo of a
    /// page is not recognized, because it usually looks better without.
    public var isDocument: Bool
    /// The handling of an image that cannot be decoded or made to fit. `fail` by default.
    public var onFailure: FailurePolicy

    /// Whether a PNG or WebP file that fits is kept in its format, like a JPEG file that fits. `false` by default: it
    /// becomes a JPEG.
    ///
    /// ```swift
    /// var options = JPEGOptions.maxBytes(.kibibytes(100))
    /// options.keepsFormat = true
    /// let card = try await JPEGRecompressor(options).recompress(file: "card.png")
    /// print(card.report.format.contentType)                        // image/png, or image/jpeg if it had to be compressed
    /// ```
    ///
    /// Its pixels are unchanged, including their transparency, and its metadata is removed. A file is converted
    /// nevertheless if it exceeds a limit, takes more bytes than a JPEG of the ``quality`` that is set, has an Exif
    /// orientation or a color profile that is converted to sRGB, or is an animation. ``JPEGReport/format`` is the format
    /// of the result.
    ///
    /// - Complexity: The file is decoded once, to verify it.
    public var keepsFormat: Bool

    /// The program that decodes HEIC images, the photos of iPhones. `nil` by default: they fail with
    /// ``JPEGError/Code/notAJPEG``.
    public var heicDecoder: ExternalDecoder?

    /// Creates options; omitted values are unlimited.
    public init(
        maxBytes: ByteCount? = nil, quality: Int? = nil, maxPixels: Int? = nil, maxSide: Int? = nil,
        minSide: Int? = nil, mode: Mode = .best, isDocument: Bool = false, onFailure: FailurePolicy = .fail,
        keepsFormat: Bool = false, heicDecoder: ExternalDecoder? = nil
    ) {
        self.maxBytes = maxBytes
        self.quality = quality
        self.maxPixels = maxPixels
        self.maxSide = maxSide
        self.minSide = minSide
        self.mode = mode
        self.isDocument = isDocument
        self.onFailure = onFailure
        self.keepsFormat = keepsFormat
        self.heicDecoder = heicDecoder
    }

    /// Returns options for the best image within a number of bytes.
    public static func maxBytes(_ limit: ByteCount, mode: Mode = .best) -> JPEGOptions {
        JPEGOptions(maxBytes: limit, mode: mode)
    }

    /// Returns options for a fixed quality from 1 to 100 at the image's own size.
    public static func quality(_ quality: Int, mode: Mode = .best) -> JPEGOptions {
        JPEGOptions(quality: quality, mode: mode)
    }

    /// Validates the options before any work is done.
    func check() throws(JPEGError) {
        if let quality, !(1...100).contains(quality) {
            throw JPEGError(.invalidOptions, "The quality must be between 1 and 100; got \(quality).")
        }
        if let maxBytes, maxBytes.bytes < 1 {
            throw JPEGError(
                .invalidOptions, "A limit of \(maxBytes.bytes) bytes is too small for an image. Use at least 1,000.")
        }
        if let maxPixels, maxPixels < 1 {
            throw JPEGError(.invalidOptions, "The pixel limit must be at least 1; got \(maxPixels).")
        }
        if let maxSide, maxSide < 1 {
            throw JPEGError(.invalidOptions, "The maximum side must be at least 1 pixel; got \(maxSide).")
        }
        if let minSide, minSide < 1 {
            throw JPEGError(.invalidOptions, "The minimum side must be at least 1 pixel; got \(minSide).")
        }
        if let minSide, let maxSide, minSide > maxSide {
            throw JPEGError(
                .invalidOptions,
                "The minimum side of \(minSide) pixels exceeds the maximum of \(maxSide). Change one of them.")
        }
    }
}
