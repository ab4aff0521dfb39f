public import WaybillCore

/// A recompressed image.
public struct JPEGResult: Sendable {
    /// The JPEG file: progressive and without metadata, unless the original was kept. With
    /// ``JPEGOptions/keepsFormat``, it may be a PNG or WebP file (``JPEGReport/format``).
    public let bytes: [UInt8]
    /// A report of the work.
    public let report: JPEGReport
}

extension JPEGResult: CustomStringConvertible, CustomReflectable {
    /// The size and bytes: `JPEG, 1268 x 951, 99.7 KiB`. Never the image itself.
    public var description: String {
        "\(report.format), \(report.width) x \(report.height), \(ByteCount(bytes: Int64(bytes.count)))"
    }
    /// Only the report, so that `dump` prints no image either.
    public var customMirror: Mirror { Mirror(self, children: ["report": report]) }
}

/// The measurements and decisions of a recompression.
public struct JPEGReport: Sendable, Hashable {
    /// The format of a result.
    public enum Format: Sendable, Hashable, CaseIterable, CustomStringConvertible {
        /// A JPEG file.
        case jpeg
        /// A PNG file that was kept (``JPEGOptions/keepsFormat``).
        case png
        /// A WebP file that was kept (``JPEGOptions/keepsFormat``).
        case webP

        /// The name: `JPEG`, `PNG` or `WebP`.
        public var description: String {
            switch self {
            case .jpeg: "JPEG"
            case .png: "PNG"
            case .webP: "WebP"
            }
        }

        /// The media type: `image/jpeg`, `image/png` or `image/webp`.
        public var contentType: String { "image/\(description.lowercased())" }

        /// The extensions of file names, in lower case and without a dot, the preferred one first.
        public var fileExtensions: [String] {
            switch self {
            case .jpeg: ["jpg", "jpeg", "jpe", "jfif"]
            case .png: ["png"]
            case .webP: ["webp"]
            }
        }
    }

    /// The format of the output.
    public var format: Format
    /// The size of the input in bytes.
    public var originalBytes: Int
    /// The size of the output in bytes.
    public var bytes: Int
    /// The upright width of the input in pixels.
    public var originalWidth: Int
    /// The upright height of the input in pixels.
    public var originalHeight: Int
    /// The upright width of the output in pixels.
    public var width: Int
    /// The upright height of the output in pixels.
    public var height: Int
    /// The Exif orientation of the input, 1 to 8. The output is upright, unless the original was kept (``failure``).
    public var orientation: Int
    /// The quantizer factor: every entry of the quantization table is that of the base table times this factor. 1 is
    /// about quality 50; smaller values are finer. `nil` if the image was not requantized.
    public var quantiserFactor: Double?
    /// The CPU time of the work, without waiting.
    public var cpuTime: Duration
    /// The removed metadata: `Exif`, `XMP`, `ICC profile`, `comment`, …, each once, and `trailing data` for data after
    /// the image, such as previews and videos. `color space` means that a PNG file declares another color space than
    /// sRGB in a way that is not converted: by a code (cICP), or by primaries (cHRM) without a profile.
    public var stripped: [String]
    /// The name of the embedded color profile if its colors were converted to sRGB, such as `Display P3`.
    public var convertedProfile: String?
    /// The name of the embedded color profile if it is neither sRGB nor was converted: a profile made of tables, a gray
    /// or ink profile, or a damaged one. The image may look slightly different without it.
    public var droppedProfile: String?
    /// The number of stray bytes between segments and before restart markers, as some cameras and webcams leave them;
    /// up to 64 are skipped. A few that precede a restart marker or the end may not be counted.
    public var strayBytes: Int
    /// Whether the input lacks the marker at its end (EOI, or IEND of a PNG file). No image data is missing, and the
    /// output has the marker.
    public var isEndMissing: Bool
    /// The part of the image, from 0 to 1, that may be damaged: the missing rows of a file that ends early, or 1 if the
    /// data is damaged, because it is not known where the damage begins. It is above 0 only with
    /// ``JPEGOptions/FailurePolicy/salvage``.
    public var damagedFraction: Double
    /// Whether the coefficients of the input, or the pixels of a PNG or WebP file, were kept: nothing but metadata was
    /// lost.
    public var isPassedThrough: Bool
    /// The reason why the original was passed on (``JPEGOptions/FailurePolicy/sendOriginal``); `nil` otherwise.
    public var failure: JPEGError.Code?

    /// The output width divided by the input width; at most 1.
    public var scale: Double { Double(width) / Double(originalWidth) }

    /// The ``quantiserFactor`` converted to libjpeg's scale of 1 to 100, rounded.
    public var quality: Int? { quantiserFactor.map(QuantiserTable.quality(factor:)) }
}

/// The measured quality of an image under one limit.
public struct JPEGCurvePoint: Sendable, Hashable {
    /// The limit in bytes.
    public var limit: ByteCount
    /// The report of the recompression.
    public var report: JPEGReport
    /// The difference from the original: 0 means identical, 0.1 is clearly worse. It is the gradient magnitude
    /// similarity deviation of luma (GMSD; Xue, Zhang, Mou and Bovik, 2014), both images scaled to at most 512 pixels
    /// per side, plus a tenth of the same measure at twice and four times that size. Values are comparable only for the
    /// same image.
    public var deviation: Double
}
