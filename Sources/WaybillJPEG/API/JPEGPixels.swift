/// An image as uncompressed pixels, top row first, as returned by a camera library or a decoder.
///
/// ```swift
/// let frame = JPEGPixels(width: 640, height: 480, format: .rgb, bytes: frameBytes)
/// let card = try await JPEGRecompressor(.maxBytes(.kibibytes(100))).recompress(.pixels(frame))
/// ```
///
/// Values are interpreted as sRGB. Transparent pixels are composited on white; alpha is straight, not premultiplied.
public struct JPEGPixels: Sendable {
    /// The layout of a pixel.
    public enum Format: Sendable, Hashable, CaseIterable {
        /// One byte: black is 0.
        case grey
        /// Red, green, blue.
        case rgb
        /// Red, green, blue, alpha.
        case rgba

        /// The number of bytes per pixel.
        public var bytesPerPixel: Int {
            switch self {
            case .grey: 1
            case .rgb: 3
            case .rgba: 4
            }
        }
    }

    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// The layout of a pixel.
    public var format: Format
    /// The bytes of all rows.
    public var bytes: [UInt8]
    /// The number of bytes from one row to the next.
    public var bytesPerRow: Int

    /// Creates an image from pixels. By default, rows are contiguous.
    ///
    /// The sizes are validated when the image is recompressed: ``JPEGError/Code/invalidPixels`` reports too few bytes.
    public init(width: Int, height: Int, format: Format, bytes: [UInt8], bytesPerRow: Int? = nil) {
        self.width = width
        self.height = height
        self.format = format
        self.bytes = bytes
        self.bytesPerRow = bytesPerRow ?? width.multipliedReportingOverflow(by: format.bytesPerPixel).partialValue
    }

    func check() throws(JPEGError) {
        guard width > 0, height > 0 else {
            throw JPEGError(.noPixels, "Both sides of the image must be at least 1 pixel; got \(width) x \(height).")
        }
        guard width <= JPEGBounds.side, height <= JPEGBounds.side, width * height <= JPEGBounds.pixels else {
            throw JPEGError(
                .tooManyPixels,
                "The image has \(width) x \(height) pixels; the limits are \(JPEGBounds.pixels / 1_000_000) megapixels "
                    + "and \(JPEGBounds.side) pixels per side. Scale the image down first.")
        }
        let row = width * format.bytesPerPixel
        guard bytesPerRow >= row else {
            throw JPEGError(.invalidPixels, "Rows of \(bytesPerRow) bytes are too short: each needs at least \(row).")
        }
        let (gaps, overflow) = bytesPerRow.multipliedReportingOverflow(by: height - 1)
        guard !overflow, bytes.count - row >= gaps else {
            throw JPEGError(
                .invalidPixels,
                "\(bytes.count) bytes are too few for \(height) rows of \(bytesPerRow) bytes. Provide the "
                    + "missing bytes, or check the size.")
        }
    }
}

extension JPEGPixels: CustomStringConvertible, CustomReflectable {
    /// The size and format, never the pixels.
    public var description: String { "\(width) x \(height) pixels, \(format)" }
    /// Only the size and format, so that `dump` prints no pixels either.
    public var customMirror: Mirror { Mirror(self, children: ["width": width, "height": height, "format": format]) }
}

/// The source of an image.
public enum JPEGInput: Sendable {
    /// A file in memory, at most 100 MB.
    case bytes([UInt8])
    /// The path of a regular file of at most 100 MB. Symbolic links are followed; the file is only read.
    case file(String)
    /// Uncompressed pixels.
    case pixels(JPEGPixels)
}
