/// What a JPEG file says about itself before its picture data: size, components, orientation, metadata.
///
/// ```swift
/// let header = try JPEGHeader(parsing: bytes)
/// print(header.width, header.height, header.orientation, header.segments.map(\.name))
/// ```
///
/// Read by pure code without libjpeg, so that a hostile file is judged before anything is allocated for it.
public struct JPEGHeader: Sendable, Hashable {
    /// How the samples are coded.
    package enum Process: Sendable, Hashable {
        /// One pass, 8 bits (SOF0).
        case baseline
        /// One pass, up to 12 bits (SOF1, SOF9).
        case extended
        /// Several passes, coarse to fine (SOF2, SOF10).
        case progressive
        /// Predictive, without DCT (SOF3, SOF11).
        case lossless
        /// Differential frames over others (SOF5 to SOF7, SOF13 to SOF15).
        case hierarchical
    }

    /// What the components mean, as libjpeg judges.
    package enum ColorModel: Sendable, Hashable {
        /// One component.
        case grey
        /// Luma and two colour differences.
        case yCbCr
        /// Red, green, blue as they are.
        case rgb
        /// Four inks.
        case cmyk
        /// Four inks, three of them as YCbCr.
        case ycck
        /// A number of components that has no meaning here.
        case unknown
    }

    /// A component with its sampling factors.
    package struct Component: Sendable, Hashable {
        /// The component's identifier.
        package var identifier: UInt8
        /// Samples across, relative to the other components: 1 to 4.
        package var horizontalSampling: Int
        /// Samples down, relative to the other components: 1 to 4.
        package var verticalSampling: Int
    }

    /// A segment that is not needed to decode.
    public struct Segment: Sendable, Hashable {
        /// The marker's second byte: 0xE1 is APP1.
        public var marker: UInt8
        /// What it holds: `JFIF`, `Exif`, `XMP`, `ICC profile`, `Photoshop`, `MPF`, `Adobe`, `comment`, or `APP7`.
        public var name: String
        /// Its length with the marker.
        public var byteCount: Int
    }

    /// Pixels across, as stored.
    public var width: Int
    /// Pixels down, as stored.
    public var height: Int
    /// Bits of a sample.
    public var precision: Int
    /// How the samples are coded.
    package var process: Process
    /// Whether entropy coding is arithmetic and not Huffman.
    public var isArithmetic: Bool
    /// The components in the file's order.
    package var components: [Component]
    /// The Exif orientation of the picture, 1 (upright) to 8; 1 when there is none or it makes no sense.
    public var orientation: Int
    var profile: ICCProfile?
    /// The transform of an Adobe segment: 0 none, 1 YCbCr, 2 YCCK. `nil` without the segment.
    public var adobeTransform: Int?
    /// Whether there is a JFIF segment.
    public var isJFIF: Bool
    /// Application segments and comments before the picture data, in order.
    public var segments: [Segment]
    /// Where the picture data begins: the first byte behind the first SOS segment.
    public var scanOffset: Int

    /// Reads the header of a JPEG file.
    ///
    /// - Throws: ``JPEGError`` with ``JPEGError/Code/empty``, ``JPEGError/Code/notAJPEG``,
    ///   ``JPEGError/Code/truncated`` or ``JPEGError/Code/corrupt``. Sizes and processes are reported, not judged.
    /// - Complexity: Linear in the header's length; at most 1,000 segments.
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

    /// The description of an embedded ICC profile, such as `Display P3`; empty when it has none; `nil` without profile.
    public var profileName: String? { profile?.name }

    /// Width and height when upright.
    public var uprightSize: (width: Int, height: Int) {
        orientation >= 5 ? (height, width) : (width, height)
    }

    /// What the components mean. The rules are libjpeg's (`default_decompress_parms` in jdapimin.c): JFIF, then Adobe,
    /// then the identifiers.
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

/// Names application segments by the text they begin with.
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
