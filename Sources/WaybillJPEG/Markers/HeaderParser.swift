/// Parses the segments from SOI to the first SOS (ISO/IEC 10918-1 annex B). Every read is bounds-checked.
struct HeaderParser {
    private let bytes: [UInt8]
    private var position = 0
    private var header: JPEGHeader?
    private var segments: [JPEGHeader.Segment] = []
    private var orientation: Int?
    private var profileSegments: [ArraySlice<UInt8>] = []
    private var adobeTransform: Int?
    private var isJFIF = false
    private var strayBytes = 0

    private static let maxSegments = 1_000
    /// The number of stray bytes between segments that libjpeg may skip, too (`max_stray_bytes`).
    private static let maxStrayBytes = 64

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func parse() throws(JPEGError) -> JPEGHeader {
        guard try ImageFormat(of: bytes) == .jpeg else {
            throw JPEGError(.notAJPEG, "The input is a PNG or WebP image. Only a JPEG file has this header.")
        }
        position = 2
        while true {
            let marker = try nextMarker()
            if marker == 0xDA { return try finish() }
            try readSegment(marker)
        }
    }

    /// Reads the next marker and skips a few stray bytes before it, as some cameras leave them.
    private mutating func nextMarker() throws(JPEGError) -> UInt8 {
        let start = position
        while true {
            let code = try markerCode()
            switch code {
            case nil:
                guard strayBytes <= Self.maxStrayBytes else {
                    throw JPEGError(.corrupt, "The header is damaged: expected a marker at byte \(start).")
                }
            case 0xD8?: throw JPEGError(.corrupt, "The header contains an invalid marker FF D8.")
            case 0xD9?: throw JPEGError(.corrupt, "The file contains no image data.")
            case let code?: return code
            }
        }
    }

    /// Returns the code of the marker at the position; otherwise counts and skips a stray byte, or FF 00.
    private mutating func markerCode() throws(JPEGError) -> UInt8? {
        guard try byte() == 0xFF else {
            strayBytes += 1
            return nil
        }
        // Any number of fill bytes may precede the marker code (B.1.1.2).
        var code = try byte()
        while code == 0xFF { code = try byte() }
        guard code != 0 else {
            strayBytes += 2
            return nil
        }
        return code
    }

    private mutating func readSegment(_ marker: UInt8) throws(JPEGError) {
        // TEM and RSTn have no length or body.
        if marker == 0x01 || (0xD0...0xD7).contains(marker) { return }
        let start = position
        let length = try word()
        guard length >= 2 else {
            throw JPEGError(.corrupt, "The header is damaged: invalid segment length \(length).")
        }
        let end = start + length
        guard end <= bytes.count else { throw Self.truncatedHeader }
        let body = bytes[position..<end]
        switch marker {
        case 0xC4, 0xC8, 0xCC: break
        case 0xC0...0xCF: try readFrame(marker, body)
        case 0xE0...0xEF, 0xFE: try note(marker, body)
        default: break
        }
        position = end
    }

    private mutating func readFrame(_ marker: UInt8, _ body: ArraySlice<UInt8>) throws(JPEGError) {
        guard header == nil else { throw JPEGError(.corrupt, "The file has two frame headers.") }
        let at = body.startIndex
        guard body.count >= 6, body.count == 6 + 3 * Int(body[at + 5]) else {
            throw JPEGError(.corrupt, "The length of the frame header does not match its number of components.")
        }
        let components = (0..<Int(body[at + 5])).map { index in
            let entry = at + 6 + 3 * index
            return JPEGHeader.Component(
                identifier: body[entry], horizontalSampling: Int(body[entry + 1] >> 4),
                verticalSampling: Int(body[entry + 1] & 15))
        }
        let factors = components.flatMap { [$0.horizontalSampling, $0.verticalSampling] }
        guard factors.allSatisfy((1...4).contains) else {
            throw JPEGError(.corrupt, "A component's sampling factor is outside 1 to 4.")
        }
        header = JPEGHeader(
            width: Int(body[at + 3]) << 8 | Int(body[at + 4]), height: Int(body[at + 1]) << 8 | Int(body[at + 2]),
            precision: Int(body[at]), process: Self.process(of: marker), isArithmetic: marker >= 0xC9,
            components: components)
    }

    private static func process(of marker: UInt8) -> JPEGHeader.Process {
        switch marker {
        case 0xC0: .baseline
        case 0xC1, 0xC9: .extended
        case 0xC2, 0xCA: .progressive
        case 0xC3, 0xCB: .lossless
        default: .hierarchical
        }
    }

    private mutating func note(_ marker: UInt8, _ body: ArraySlice<UInt8>) throws(JPEGError) {
        guard segments.count < Self.maxSegments else {
            throw JPEGError(.corrupt, "The header has more than \(Self.maxSegments) application segments.")
        }
        let name = SegmentName.of(marker, body)
        segments.append(.init(marker: marker, name: name, byteCount: body.count + 4))
        switch name {
        case "JFIF": isJFIF = true
        case "Exif": orientation = orientation ?? ExifOrientation.find(in: body.dropFirst(6))
        case "ICC profile": profileSegments.append(body.dropFirst(12))
        case "Adobe" where body.count >= 12: adobeTransform = Int(body[body.startIndex + 11])
        default: break
        }
    }

    private mutating func finish() throws(JPEGError) -> JPEGHeader {
        guard var header else { throw JPEGError(.corrupt, "Image data precedes the frame header.") }
        let start = position
        let length = try word()
        guard length >= 6 else { throw JPEGError(.corrupt, "The scan header is too short.") }
        guard start + length <= bytes.count else { throw Self.truncatedHeader }
        header.scanOffset = start + length
        header.segments = segments
        header.orientation = orientation ?? 1
        header.profile = profile
        header.adobeTransform = adobeTransform
        header.isJFIF = isJFIF
        return header
    }

    /// An incomplete profile counts as a profile without a name.
    private var profile: ICCProfile? {
        guard !profileSegments.isEmpty else { return nil }
        return ICCProfile(ICCProfile.assemble(profileSegments) ?? [])
    }

    private mutating func byte() throws(JPEGError) -> UInt8 {
        guard position < bytes.count else { throw Self.truncatedHeader }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func word() throws(JPEGError) -> Int {
        let high = try byte()
        return Int(high) << 8 | Int(try byte())
    }

    private static let truncatedHeader = JPEGError(
        .truncated, "The file ends within its header. Copy or download it again.")
}
