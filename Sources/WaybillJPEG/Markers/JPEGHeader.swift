/// The header of a JPEG file before its image data: size, components, orientation, metadata.
///
/// ```swift
/// let header = try JPEGHeader(parsing: bytes)
/// print(header.width, header.height, header.orientation, header.segments.map(\.name))
/// ```
///
/// It is parsed without libjpeg, so that a malicious file is rejected before memory is allocated for it.
public struct JPEGHeader: Sendable, Hashable {
    /// The coding process.
    package enum Process: Sendable, Hashable {
        /// One pass, 8 bits (SOF0).
        case baseline
        /// One pass, up to 12 bits (SOF1, SOF9).
        case extended
        /// Several passes, coarse to fine (SOF2, SOF10).
        case progressive
        /// Predictive, without a DCT (SOF3, SOF11).
        case lossless
        /// Differential frames over others (SOF5 to SOF7, SOF13 to SOF15).
        case hierarchical
    }

    /// The color model, as determined by libjpeg.
    package enum ColorModel: Sendable, Hashable {
        /// One component.
        case grey
        /// Luma and two color differences.
        case yCbCr
        /// Red, green and blue, stored directly.
        case rgb
        /// Four inks.
        case cmyk
        /// Four inks, three of them stored as YCbCr.
        case ycck
        /// An unsupported number of components.
        case unknown
    }

    /// A component and its sampling factors.
    package struct Component: Sendable, Hashable {
        /// The component's identifier.
        package var identifier: UInt8
        /// The horizontal sampling factor, 1 to 4.
        package var horizontalSampling: Int
        /// The vertical sampling factor, 1 to 4.
        package var verticalSampling: Int
    }

    /// A segment that is not needed for decoding.
    public struct Segment: Sendable, Hashable {
        /// The second byte of the marker: 0xE1 is APP1.
        public var marker: UInt8
        /// The content: `JFIF`, `Exif`, `XMP`, `ICC profile`, `Photoshop`, `MPF`, `Adobe`, `comment`, or `APP7`.
        public var name: String
        /// The length including the marker.
        public var byteCount: Int
    }

    /// The width in pixels, as stored.
    public var width: Int
    /// The height in pixels, as stored.
    public var height: Int
    /// The number of bits per sample.
    public var precision: Int
    /// The coding process.
    package var process: Process
    /// Whether entropy coding is arithmetic instead of Huffman.
    public var isArithmetic: Bool
    /// The components in the order of the file.
    package var components: [Component]
    /// The Exif orientation of the image, 1 (upright) to 8; 1 if it is missing or invalid.
    public var orientation: Int
    var profile: ICCProfile?
    /// The transform of an Adobe segment: 0 for none, 1 for YCbCr, 2 for YCCK. `nil` without the segment.
    public var adobeTransform: Int?
    /// Whether there is a JFIF segment.
    public var isJFIF: Bool
    /// The application segments and comments before the image data, in order.
    public var segments: [Segment]
    /// The offset of the image data: the first byte after the first SOS segment.
    public var scanOffset: Int

    /// Parses the header of a JPEG file.
    ///
    /// - Throws: ``JPEGError`` with ``JPEGError/Code/empty``, ``JPEGError/Code/notAJPEG``, ``JPEGError/Code/truncated``
    ///   or ``JPEGError/Code/corrupt``. Sizes and processes are not checked against limits.
    /// - Complexity: Linear in the length of the header; at most 1,000 segments.
    public init(parsing bytes: [UInt8]) throws(JPEGError) {
        var parser = HeaderParser(bytes)
        self = try parser.parse()
    }

    init(width: Int, height: Int, precision: Int, process: Process, isArithmetic: Bool, components: [Component]) {
        self.width = width
        self.height = height
        self.precision = precision
        self.process = process
        self.isArithmetic = isArithmetic
        self.components = components
        orientation = 1
        isJFIF = false
        segments = []
        scanOffset = 0
    }

    /// The description of the embedded ICC profile, such as `Display P3`, or an empty string; `nil` without a profile.
    public var profileName: String? { profile?.name }

    /// The upright width and height.
    public var uprightSize: (width: Int, height: Int) {
        orientation >= 5 ? (height, width) : (width, height)
    }

    /// The color model. The rules are those of libjpeg (`default_decompress_parms` in jdapimin.c): JFIF, then Adobe,
    /// then the component identifiers.
    package var colorModel: ColorModel {
        switch components.count {
        case 1: return .grey
        case 4: return adobeTransform == 2 ? .ycck : .cmyk
        case 3: break
        default: return .unknown
        }
        if isJFIF { return .yCbCr }
        if let adobeTransform { return adobeTransform == 0 ? .rgb : .yCbCr }
        return components.map(\.identifier) == Array("RGB".utf8) ? .rgb : .yCbCr
    }
}

/// The names of application segments, derived from their first bytes.
enum SegmentName {
    private static let known: [(marker: UInt8, prefix: [UInt8], name: String)] = [
        (0xE0, Array("JFIF\0".utf8), "JFIF"),
        (0xE0, Array("JFXX\0".utf8), "JFIF thumbnail"),
        (0xE1, Array("Exif\0".utf8), "Exif"),
        (0xE1, Array("http://ns.adobe.com/".utf8), "XMP"),
        (0xE2, Array("ICC_PROFILE\0".utf8), "ICC profile"),
        (0xE2, Array("MPF\0".utf8), "MPF"),
        (0xED, Array("Photoshop".utf8), "Photoshop"),
        (0xEE, Array("Adobe".utf8), "Adobe"),
    ]

    static func of(_ marker: UInt8, _ body: ArraySlice<UInt8>) -> String {
        if marker == 0xFE { return "comment" }
        let match = known.first { $0.marker == marker && body.starts(with: $0.prefix) }
        return match?.name ?? "APP\(marker & 15)"
    }
}
